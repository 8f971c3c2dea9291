// The player's chips and ratings, as wallet and rating service tell them.

const PAGE = 1000;
const KEPT = 200;

/** What the page knows of the player's own account. */
export class Books {
  #app;
  #of = "";
  #before = [];
  #token = "";

  constructor(app) {
    this.#app = app;
    this.balance = null;
  }

  get #account() {
    return `player:${this.#app.session.playerId}`;
  }

  /** Ask for the balance, and show it. */
  async refreshBalance() {
    try {
      const { balance } = await this.#app.rpc.call("WalletService", "GetAccount", { account: this.#account });
      this.balance = Number(balance);
    } catch (refusal) {
      if (refusal.reason === "ACCOUNT_NOT_FOUND") this.balance = 0;
    }
    this.#app.render();
  }

  /** The newest postings first; pages that were full are not asked for again. Raises Refusal. */
  async postings() {
    if (this.#of !== this.#account) this.#forget();
    for (;;) {
      const [account, token] = [this.#account, this.#token];
      const page = await this.#app.rpc.call("WalletService", "ListPostings", {
        account,
        page_size: PAGE,
        page_token: token,
      });
      const known = [...this.#before, ...page.postings].slice(-KEPT);
      if (!page.next_page_token && token === this.#token) return known.reverse();
      if (token !== this.#token) continue; // asked twice at once: the other one has kept this page
      this.#before = known;
      this.#token = page.next_page_token;
    }
  }

  #forget() {
    this.#of = this.#account;
    this.#before = [];
    this.#token = "";
  }

  /** Chips that a settled match brought or cost, its stake included; null where the wallet does not answer. */
  async matchChips(matchId) {
    try {
      const ofMatch = (await this.postings()).filter((posting) => posting.match_id === matchId);
      return ofMatch.reduce((sum, posting) => sum + Number(posting.amount), 0);
    } catch {
      return null;
    }
  }
}
