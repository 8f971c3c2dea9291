// The player's chips and ratings, as wallet and rating service tell them.

const PAGE = 1000;
const KEPT = 200;

/** What the page knows of the player's own account. */
export class Books {
  #app;

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

  /** The newest postings first. Raises Refusal. */
  async postings() {
    let newest = [];
    let token = "";
    do {
      const page = await this.#app.rpc.call("WalletService", "ListPostings", {
        account: this.#account,
        page_size: PAGE,
        page_token: token,
      });
      newest = [...newest, ...page.postings].slice(-KEPT);
      token = page.next_page_token;
    } while (token);
    return newest.reverse();
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
