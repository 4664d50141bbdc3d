"""Fits y = 3x. Each worker has numbers of its own; the weight is kept by a server."""

import mxnet as mx

store = mx.kv.create("dist_sync")

# What all workers push comes back to each as one sum.
total = mx.nd.zeros(1)
store.init("total", total)
store.push("total", mx.nd.full(1, store.rank + 1))
store.pull("total", out=total)
total.wait_to_read()  # Before the server learns to do something else with what is pushed.

store.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.05, rescale_grad=1 / store.num_workers))
weight = mx.nd.zeros(1)
store.init("weight", weight)
x = mx.nd.array([2 * store.rank + 1, 2 * store.rank + 2])
for _ in range(20):
    gradient = 2 * ((weight * x - 3 * x) * x).mean()
    store.push("weight", gradient)
    store.pull("weight", out=weight)

print(
    f"worker {store.rank} of {store.num_workers}:"
    f" total {total.asscalar():.0f}, weight {weight.asscalar():.2f}"
)
