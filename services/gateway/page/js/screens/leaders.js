// The leaderboard: one ladder, one section, the first places, and the own rank.
import { displayNames } from "../wire/names.js";

const PLACES = 50;

const rowOf = ({ rank, rating }) => ({
  rank: Number(rank),
  playerId: rating.player_id,
  ratingMilli: Number(rating.rating_milli),
  matches: Number(rating.rated_matches),
});

/** `rows` is null while they are asked for, `isAway` when nobody has answered. */
export class Leaders {
  #app;
  #asked = 0;

  constructor(app) {
    this.#app = app;
    this.ladder = "OVERALL";
    this.section = "PROVISIONAL";
    this.#forget();
  }

  #forget() {
    this.rows = null;
    this.names = {};
    this.rank = null;
    this.isAway = false;
  }

  /** Show another ladder or section. */
  async pick(chosen) {
    Object.assign(this, chosen);
    this.#forget();
    this.#app.render();
    await this.load();
  }

  /** Ask anew; what was asked before and comes later is not shown any more. */
  async load() {
    this.#asked += 1;
    const asked = this.#asked;
    const found = await this.#ask().catch(() => ({ rows: null, names: {}, rank: null, isAway: true }));
    if (asked !== this.#asked) return;
    Object.assign(this, found);
    this.#app.render();
  }

  async #ask() {
    const { rpc, session } = this.#app;
    const ladder = `LADDER_${this.ladder}`;
    const [board, rank] = await Promise.all([
      rpc.call("RatingService", "ListLeaderboard", { ladder, section: `SECTION_${this.section}`, page_size: PLACES }),
      this.#ownRank(ladder, session.playerId),
    ]);
    const rows = board.entries.map(rowOf);
    const names = await displayNames(
      rpc,
      rows.map(({ playerId }) => playerId),
    );
    return { rows, names, rank, isAway: false };
  }

  /** The own place; null for who has none. */
  async #ownRank(ladder, playerId) {
    const { rpc } = this.#app;
    const own = await rpc.call("RatingService", "GetRank", { player_id: playerId, ladder }).catch(() => null);
    if (!own?.entry) return null;
    const { rank, ratingMilli } = rowOf(own.entry);
    return { rank, players: Number(own.players), points: Math.round(ratingMilli / 1000) };
  }
}
