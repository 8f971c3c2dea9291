"""``make attack``: every known attack on a running cluster, and what each one costs its victims.

``__main__`` enters a network namespace, ``stand`` starts a cluster with Envoy in it, ``players``
play honest matches through gRPC, Envoy and gateway and note how long each command takes.
``inflict`` runs one attack of the ``catalogue`` at a time, each in a process of its own
(``attacker``), while ``gauge`` reads memory, CPU and logs of every process. ``judge`` compares
that with quiet windows and with the limits, and ``report`` writes ``build/attack/``.

``raid``, ``http2`` and the modules of attacks (``content``, ``connections``, ``web``, ``tokens``,
``callers``) run in the attacker's process and import nothing of the platform but stubs.
"""
