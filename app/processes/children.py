"""What the processes do that ours start: they end once there is no one to work for."""

import multiprocessing
import os
import threading


def end_with_parent() -> None:
    """End this process once the one that has started it is gone."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "this runs in a child"

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()
