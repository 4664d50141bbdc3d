use std::collections::BTreeSet;

use saved_model::{
    DType, Model, Wanted,
    write::{PREDICT, Shown, Writer, of_type},
};

use super::*;
use crate::trial;

/// `y = relu(x)`, of rows of any width.
fn version() -> Arc<Version> {
    let mut writer = Writer::new();
    let x = writer.input("x", DType::F32, &[-1, -1]);
    let y = writer.op("y", "Relu", &[&x], &[("T", of_type(DType::F32))]);
    let shown = |name, tensor| Shown {
        name,
        tensor,
        dtype: DType::F32,
        shape: &[-1, -1],
    };
    writer.signature("serving_default", PREDICT, &[shown("x", &x)], &[shown("y", &y)]);
    let model = Model::load(&writer.files(), &Wanted::All).unwrap();
    let batchable = trial::batchable(&model);
    assert_eq!(batchable, BTreeSet::from(["serving_default".to_owned()]));
    Arc::new(Version {
        number: 1,
        platform: crate::open_inference::TENSORFLOW,
        model,
        batchable,
    })
}

fn queue(waiting: usize, rows: usize) -> Arc<Queue> {
    let limits = Limits {
        waiting,
        rows,
        workers: 1,
    };
    Queue::new(limits, Arc::new(Metrics::new()))
}

/// Puts a request of rows of a width into a queue.
fn put(
    queue: &Queue,
    version: &Arc<Version>,
    rows: usize,
    width: usize,
) -> oneshot::Receiver<Outcome<Vec<Tensor>>> {
    let (reply, answer) = oneshot::channel();
    let values = (0..rows * width)
        .map(|place| place as f32 + rows as f32)
        .collect();
    let job = Job {
        version: version.clone(),
        signature: "serving_default".to_owned(),
        inputs: vec![Tensor::new([rows, width].as_slice(), values).unwrap()],
        rows: Some(rows),
        since: Instant::now(),
        reply,
    };
    queue.put(job).unwrap();
    answer
}

#[test]
fn requests_of_one_shape_are_answered_together_and_apart() {
    let (queue, version) = (queue(100, 100), version());
    let answers: Vec<_> = [(1, 3), (2, 3), (1, 2), (4, 3)]
        .map(|(rows, width)| (rows, width, put(&queue, &version, rows, width)))
        .into();
    let first = batch(&mut queue.state.lock().waiting, 100);
    let sizes: Vec<Option<usize>> = first.iter().map(|job| job.rows).collect();
    assert_eq!(sizes, [Some(1), Some(2), Some(4)]);
    queue.answer(first);
    let second = batch(&mut queue.state.lock().waiting, 100);
    assert_eq!(second.len(), 1);
    queue.answer(second);
    for (rows, width, mut answer) in answers {
        let outputs = answer.try_recv().unwrap().unwrap();
        let wanted: Vec<f32> = (0..rows * width)
            .map(|place| place as f32 + rows as f32)
            .collect();
        assert_eq!(outputs[0].shape(), [rows, width]);
        assert_eq!(outputs[0].values::<f32>().unwrap(), wanted);
    }
}

#[test]
fn a_batch_has_no_more_rows_than_it_may() {
    let (queue, version) = (queue(100, 3), version());
    let _answers = [2, 2, 1, 9].map(|rows| put(&queue, &version, rows, 1));
    let taken = || -> Vec<usize> {
        let jobs = batch(&mut queue.state.lock().waiting, 3);
        jobs.iter().filter_map(|job| job.rows).collect()
    };
    assert_eq!([taken(), taken(), taken()], [vec![2, 1], vec![2], vec![9]]);
}

#[test]
fn a_full_queue_asks_to_come_again() {
    let (queue, version) = (queue(1, 1), version());
    let _first = put(&queue, &version, 1, 1);
    let (reply, _answer) = oneshot::channel();
    let refused = queue.put(Job {
        version,
        signature: "serving_default".to_owned(),
        inputs: Vec::new(),
        rows: None,
        since: Instant::now(),
        reply,
    });
    assert_eq!(refused.unwrap_err().code, Code::Unavailable);
}

#[test]
fn a_request_that_fails_does_not_fail_those_beside_it() {
    let (queue, version) = (queue(100, 100), version());
    let good = put(&queue, &version, 1, 1);
    let bad = put(&queue, &version, 1, 1);
    let mut jobs = batch(&mut queue.state.lock().waiting, 100);
    jobs[1].inputs.clear();
    queue.answer(jobs);
    let mut answers = [good, bad].map(|mut answer| answer.try_recv().unwrap());
    assert!(answers[0].as_mut().is_ok_and(|outputs| outputs.len() == 1));
    assert!(answers[1].is_err());
}

#[test]
fn workers_end_when_the_queue_is_closed_and_empty() {
    let (queue, version) = (queue(100, 100), version());
    let mut answer = put(&queue, &version, 1, 1);
    queue.close();
    for worker in queue.start().unwrap() {
        worker.join().unwrap();
    }
    assert!(answer.try_recv().unwrap().is_ok());
}

#[test]
fn nobody_computes_for_a_client_that_is_gone() {
    let (queue, version) = (queue(100, 100), version());
    drop(put(&queue, &version, 1, 1));
    queue.close();
    assert!(queue.take().is_none());
}
