"""Fits y = 3x on two workers, whose gradients are added up at every step."""

import json
import os

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
config = json.loads(os.environ["TF_CONFIG"])
batch = 8


def shard(context):
    x = tf.random.stateless_uniform([256, 1], seed=[1, 2])
    data = tf.data.Dataset.from_tensor_slices((x, 3 * x)).repeat()
    data = data.shard(context.num_input_pipelines, context.input_pipeline_id)
    return data.batch(batch // context.num_replicas_in_sync)


with strategy.scope():
    weight = tf.Variable(0.0)
data = iter(strategy.distribute_datasets_from_function(shard))


@tf.function
def step():
    def replica(batch_of_one):
        x, y = batch_of_one
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((weight * x - y) ** 2) / batch
        gradient = tf.distribute.get_replica_context().all_reduce("sum", tape.gradient(loss, weight))
        weight.assign_sub(0.5 * gradient)

    strategy.run(replica, args=(next(data),))


for _ in range(60):
    step()
task, workers = config["task"], config["cluster"]["worker"]
print(
    f"worker {task['index']} of {len(workers)}:"
    f" {strategy.num_replicas_in_sync} replicas in sync, weight {weight.numpy():.2f}"
)
