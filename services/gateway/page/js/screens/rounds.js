// Finished rounds: the replay and the fairness check, for any table whose rounds this player may read.
import { commitmentOf, checkDeal } from "../core/deal.js";
import { refusalText } from "../core/i18n.js";
import { bytesOf, finishedRound, framesOf } from "../core/replay.js";
import { fairnessView, replayView, roundPicker } from "../ui/round_views.js";
import { displayNames } from "../wire/names.js";
import { base64Of } from "../wire/rpc.js";

const STEP_MS = 900;
const NONCE = /^[A-Za-z0-9+/]{43}=$/; // 32 bytes as base64

const hexOf = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** `screen` is the table screen, or null where there is none. */
export class Rounds {
  #app;
  #screen;
  #replay = null;
  #running = 0;

  constructor(app, screen) {
    this.#app = app;
    this.#screen = screen;
  }

  /** Remember what the server committed to before a deal, to compare it when the seed is out. */
  seen(table) {
    if (!table.commitment) return;
    const key = `okey.seen.${table.id}`;
    const seen = this.#app.store.json(key, Array.isArray) ?? [];
    if (seen.includes(table.commitment)) return;
    this.#app.store.keep(key, JSON.stringify([...seen, table.commitment].slice(-60)));
  }

  keepNonce(commitment, nonce) {
    this.#app.store.keep(`okey.nonce.${commitment}`, base64Of(nonce));
  }

  /** Who sat where when the match of a finished round started: others may sit there by now. */
  async #namesOf({ players }) {
    const { rpc, t } = this.#app;
    const names = await displayNames(rpc, players);
    const nameless = (seat) => `${t("leaders.player")} ${seat + 1}`;
    return players.map((player, seat) => (player ? names[player] || nameless(seat) : `${t("bot.NORMAL")} ${seat + 1}`));
  }

  async #round(tableId, { matchNo, roundNo }) {
    const invite = this.#app.store.text(`okey.invite.${tableId}`);
    return this.#app.rpc.call("TableService", "ListEvents", {
      table_id: tableId,
      match_no: matchNo,
      round_no: roundNo,
      invite,
    });
  }

  #picker(chosen, action) {
    return roundPicker(this.#app.t, { ...chosen, matches: this.#screen?.table?.matchNo ?? 0, action });
  }

  /** Check a round's deal; `tableId` names its table. */
  async openFairness(tableId, chosen) {
    this.tableId = tableId;
    const show = (found) => this.#showFairness(chosen, found);
    show({ lines: null, problem: "" });
    try {
      const response = await this.#round(tableId, chosen);
      const round = finishedRound(tableId, chosen.matchNo, chosen.roundNo, response);
      show({ lines: await checkDeal(round, await this.#known(tableId, round)), problem: "" });
    } catch (refusal) {
      show({ lines: null, problem: refusal.reason ? refusalText(this.#app.t, refusal.reason) : String(refusal) });
    }
  }

  async #known(tableId, round) {
    const { store } = this.#app;
    const seen = store.json(`okey.seen.${tableId}`, Array.isArray) ?? [];
    const commitment = base64Of(await commitmentOf(round.seed));
    const nonce = store.text(`okey.nonce.${commitment}`);
    const ownNonce = NONCE.test(nonce) ? bytesOf(nonce) : null;
    return { seen: seen.includes(commitment) ? bytesOf(commitment) : null, ownNonce };
  }

  #showFairness(chosen, found) {
    const { t, dialog } = this.#app;
    const running = this.#screen?.table?.commitment;
    const commitment = running ? hexOf(bytesOf(running)) : "";
    const content = fairnessView(t, { ...found, commitment, picker: this.#picker(chosen, "checkRound") });
    dialog.show("fairness", t("fair.title"), content, { closeLabel: t("menu.close"), isWide: true });
  }

  /** Watch a round again. */
  async openReplay(tableId, chosen) {
    this.tableId = tableId;
    try {
      const round = await this.#round(tableId, chosen);
      const names = await this.#namesOf(round);
      this.#replay = { frames: framesOf(round), at: 0, isRunning: false, nameOf: (seat) => names[seat] ?? "" };
      this.#showReplay();
    } catch (refusal) {
      this.#app.warn(refusalText(this.#app.t, refusal.reason ?? "INTERNAL"));
    }
  }

  #showReplay() {
    const { t, dialog } = this.#app;
    dialog.show("replay", t("replay.title"), replayView(t, this.#replay), {
      closeLabel: t("menu.close"),
      isWide: true,
      onClose: () => this.#stop(),
    });
  }

  #goTo(at) {
    const last = this.#replay.frames.length - 1;
    this.#replay.at = Math.max(0, Math.min(last, at));
    if (this.#replay.at === last) this.#stop();
    this.#showReplay();
  }

  #run() {
    if (this.#replay.isRunning) {
      this.#stop();
      this.#showReplay();
      return;
    }
    this.#replay.isRunning = true;
    this.#running = setInterval(() => this.#goTo(this.#replay.at + 1), STEP_MS);
    this.#showReplay();
  }

  #stop() {
    clearInterval(this.#running);
    if (this.#replay) this.#replay.isRunning = false;
  }

  do(action, element) {
    const numbers = () => ({
      matchNo: Number(element.elements.match.value),
      roundNo: Number(element.elements.round.value),
    });
    if (action === "replayOn") this.#goTo(this.#replay.at + 1);
    else if (action === "replayBack") this.#goTo(this.#replay.at - 1);
    else if (action === "replayAt") this.#goTo(Number(element.value));
    else if (action === "replayRun") this.#run();
    else if (action === "checkRound") this.openFairness(this.tableId, numbers());
  }
}
