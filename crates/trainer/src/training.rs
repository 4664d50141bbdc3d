//! The course of a training: lessons, exams, checkpoints; the same for one worker and for many.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use xxhash_rust::xxh3::Xxh3;

use crate::{
    checkpoint::{self, CheckpointError},
    digits::{PIXELS, Set, draw},
    export::{ExportError, export},
    model::{Model, Reading, SIZE},
    rendezvous::{Place, meet},
    ring::{PeerError, Ring},
};

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Course {
    pub steps: u64,
    /// Pictures a step, all workers together.
    pub batch: usize,
    /// Steps from one report to the next; each comes with a checkpoint.
    pub report_every: u64,
    /// Pictures of the exam at the end.
    pub exam: u64,
    /// What the exam must show.
    pub target: Option<f64>,
    /// Where checkpoints are kept, and where an earlier one is found.
    pub checkpoints: Option<PathBuf>,
    /// Where a model that reaches the target becomes a new version for servers.
    pub exports: Option<PathBuf>,
    /// How long workers wait for each other.
    pub patience: Duration,
}

/// What happens on the way.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Joined {
        rank: usize,
        world: usize,
    },
    Resumed {
        step: u64,
    },
    Learnt {
        step: u64,
        steps: u64,
        loss: f64,
        accuracy: f64,
        pictures_per_second: f64,
    },
    Saved {
        step: u64,
        path: PathBuf,
    },
    Examined {
        accuracy: f64,
        pictures: u64,
        seconds: f64,
    },
    Exported {
        path: PathBuf,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    #[error(transparent)]
    Peer(#[from] PeerError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    #[error("the model cannot be exported")]
    Export(#[from] ExportError),
    #[error("this worker has learnt something else than the one before it")]
    Disagreement,
    #[error("accuracy {accuracy:.4} is below the target of {target}")]
    BelowTarget { accuracy: f64, target: f64 },
}

/// Readings added up over pictures and workers.
#[derive(Clone, Copy, Default)]
struct Tally {
    loss: f32,
    right: f32,
}

impl Tally {
    fn add(&mut self, reading: Reading) {
        self.loss += reading.loss;
        self.right += f32::from(u8::from(reading.is_right));
    }
}

struct Worker<'a> {
    course: &'a Course,
    place: &'a Place,
    ring: Ring,
    model: Model,
    pixels: Vec<f32>,
}

/// Trains, from the last checkpoint on where there is one, and tells what happens.
pub fn train(course: &Course, place: &Place, tell: &mut dyn FnMut(Event)) -> Result<(), TrainError> {
    let began = Instant::now();
    let (mut worker, first) = Worker::begin(course, place, tell)?;
    let (mut since, mut tally, mut last) = (first, Tally::default(), Instant::now());
    for step in first..course.steps {
        let lesson = worker.lesson(step)?;
        tally.loss += lesson.loss;
        tally.right += lesson.right;
        let done = step + 1;
        if done % course.report_every == 0 || done == course.steps {
            let pictures = (done - since) as f64 * course.batch as f64;
            tell(Event::Learnt {
                step: done,
                steps: course.steps,
                loss: f64::from(tally.loss) / pictures,
                accuracy: f64::from(tally.right) / pictures,
                pictures_per_second: pictures / last.elapsed().as_secs_f64(),
            });
            worker.save(done, tell)?;
            (since, tally, last) = (done, Tally::default(), Instant::now());
        }
    }
    worker.agree()?;
    let accuracy = worker.exam()?;
    tell(Event::Examined {
        accuracy,
        pictures: course.exam,
        seconds: began.elapsed().as_secs_f64(),
    });
    match course.target {
        Some(target) if accuracy < target => Err(TrainError::BelowTarget { accuracy, target }),
        _ => worker.export(tell),
    }
}

impl<'a> Worker<'a> {
    fn begin(
        course: &'a Course,
        place: &'a Place,
        tell: &mut dyn FnMut(Event),
    ) -> Result<(Self, u64), TrainError> {
        // The others need not see the directory: what rank 0 finds there is handed round.
        let directory = course.checkpoints.as_deref().filter(|_| place.rank == 0);
        let found = directory.map(checkpoint::load).transpose()?.flatten();
        let own_step = found.as_ref().map_or(0, |(step, _)| *step);
        let (mut ring, step) = if place.world == 1 {
            (Ring::alone(), own_step)
        } else {
            let meeting = meet(place, own_step, course.patience)?;
            let step = meeting.step;
            (Ring::of(place, meeting, course.patience)?, step)
        };
        let (rank, world) = (place.rank, place.world);
        tell(Event::Joined { rank, world });
        let mut model = found.map_or_else(Model::untaught, |(_, model)| model);
        if step > 0 {
            hand_round(&mut ring, rank, &mut model)?;
            tell(Event::Resumed { step });
        }
        let pixels = vec![0.0; PIXELS];
        let worker = Self {
            course,
            place,
            ring,
            model,
            pixels,
        };
        Ok((worker, step))
    }

    /// One step: this worker's share of the pictures, everybody's gradient.
    fn lesson(&mut self, step: u64) -> Result<Tally, PeerError> {
        let batch = self.course.batch as u64;
        let mut gradient = vec![0.0; SIZE + 2];
        let mut tally = Tally::default();
        for number in self.share(batch) {
            let digit = draw(Set::Learn, step * batch + number, &mut self.pixels);
            tally.add(self.model.learn(&self.pixels, digit, &mut gradient));
        }
        gradient[SIZE..].copy_from_slice(&[tally.loss, tally.right]);
        self.ring.sum(&mut gradient)?;
        let tally = Tally {
            loss: gradient[SIZE],
            right: gradient[SIZE + 1],
        };
        for slope in &mut gradient[..SIZE] {
            *slope /= batch as f32;
        }
        self.model.step(&gradient[..SIZE]);
        Ok(tally)
    }

    /// How much of pictures never seen before is read right, by all workers together.
    fn exam(&mut self) -> Result<f64, PeerError> {
        let mut tally = Tally::default();
        for number in self.share(self.course.exam) {
            let digit = draw(Set::Exam, number, &mut self.pixels);
            tally.add(self.model.read(&self.pixels, digit));
        }
        let mut right = [tally.right];
        self.ring.sum(&mut right)?;
        Ok(f64::from(right[0]) / self.course.exam as f64)
    }

    /// All workers took the same steps, so all must have come to the same place.
    fn agree(&mut self) -> Result<(), TrainError> {
        let mut hash = Xxh3::new();
        for weight in &self.model.weights {
            hash.update(&weight.to_le_bytes());
        }
        if self.ring.agrees(hash.digest())? {
            Ok(())
        } else {
            Err(TrainError::Disagreement)
        }
    }

    fn save(&self, step: u64, tell: &mut dyn FnMut(Event)) -> Result<(), CheckpointError> {
        if let Some(directory) = self
            .course
            .checkpoints
            .as_deref()
            .filter(|_| self.place.rank == 0)
        {
            let path = checkpoint::save(directory, step, &self.model)?;
            tell(Event::Saved { step, path });
        }
        Ok(())
    }

    fn export(&self, tell: &mut dyn FnMut(Event)) -> Result<(), TrainError> {
        let directory = self.course.exports.as_deref();
        if let Some(directory) = directory.filter(|_| self.place.rank == 0) {
            let path = export(directory, &self.model)?;
            tell(Event::Exported { path });
        }
        Ok(())
    }

    fn share(&self, pictures: u64) -> impl Iterator<Item = u64> + use<> {
        (self.place.rank as u64..pictures).step_by(self.place.world)
    }
}

/// Gives rank 0's model to all: a sum to which the others add nothing.
fn hand_round(ring: &mut Ring, rank: usize, model: &mut Model) -> Result<(), PeerError> {
    for numbers in [&mut model.weights, &mut model.velocity] {
        if rank != 0 {
            numbers.fill(0.0);
        }
        ring.sum(numbers)?;
    }
    Ok(())
}
