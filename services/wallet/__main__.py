"""Serve the wallet: ``python -m services.wallet``, configured by ``OKEY_*`` variables."""

from okey_runtime.server import serve
from services.wallet.app import WalletApp, WalletSettings

if __name__ == "__main__":
    serve(WalletApp(WalletSettings.load()))
