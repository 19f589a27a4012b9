"""What a test runs inside a worker process, so that it dies at a given moment. Sent there by value."""


def in_the_next_round():
    """Kill this process in the middle of its next round: its blocks have moved, its answer is not sent."""
    import os
    import signal

    from structlearn.distributed import worker

    propose = worker.propose

    def die(*args):
        propose(*args)
        os.kill(os.getpid(), signal.SIGKILL)

    worker.propose = die


def in_the_next_checkpoint():
    """Kill this process while it writes its next checkpoint, half of which is there under another name."""
    import os
    import signal

    from structlearn.storage import tensors

    pieces = tensors.pieces

    def die(array):
        yield from pieces(array)
        if array.size >= 60:
            os.kill(os.getpid(), signal.SIGKILL)

    tensors.pieces = die


def process():
    import os

    return os.getpid()
