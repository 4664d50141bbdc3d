//! Two layers of neurons: pixels → hidden → one score a digit. The weights are one flat list, as are
//! the gradients, so that both can be sent and saved as they are.

use fastrand::Rng;

use crate::digits::{CLASSES, PIXELS};

pub(crate) const HIDDEN: usize = 48;

pub(crate) const HIDDEN_WEIGHTS: usize = 0;
pub(crate) const HIDDEN_BIASES: usize = HIDDEN_WEIGHTS + PIXELS * HIDDEN;
pub(crate) const SCORE_WEIGHTS: usize = HIDDEN_BIASES + HIDDEN;
pub(crate) const SCORE_BIASES: usize = SCORE_WEIGHTS + HIDDEN * CLASSES;
/// How many weights there are.
pub(crate) const SIZE: usize = SCORE_BIASES + CLASSES;

const LEARNING_RATE: f32 = 0.05;
const MOMENTUM: f32 = 0.9;

/// What has been learnt, and how it was moving when last seen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Model {
    pub(crate) weights: Vec<f32>,
    pub(crate) velocity: Vec<f32>,
}

/// How one picture was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    /// Cross entropy: 0 for a sure and right answer.
    pub(crate) loss: f32,
    pub(crate) is_right: bool,
}

/// What the neurons said of one picture.
struct Activity {
    hidden: [f32; HIDDEN],
    likely: [f32; CLASSES],
}

impl Model {
    /// A model that knows nothing. The same on every worker, or their gradients would not fit.
    pub(crate) fn untaught() -> Self {
        let mut chance = Rng::with_seed(1);
        let mut weights = vec![0.0; SIZE];
        fill(&mut weights[HIDDEN_WEIGHTS..HIDDEN_BIASES], PIXELS, &mut chance);
        fill(&mut weights[SCORE_WEIGHTS..SCORE_BIASES], HIDDEN, &mut chance);
        Self {
            weights,
            velocity: vec![0.0; SIZE],
        }
    }

    /// Reads a picture without learning from it.
    pub(crate) fn read(&self, pixels: &[f32], digit: usize) -> Reading {
        reading(&self.activity(pixels), digit)
    }

    /// Reads a picture and adds to `gradient` how the weights should change to read it better.
    pub(crate) fn learn(&self, pixels: &[f32], digit: usize, gradient: &mut [f32]) -> Reading {
        let activity = self.activity(pixels);
        let mut blame = activity.likely;
        blame[digit] -= 1.0;

        let mut hidden_blame = [0.0; HIDDEN];
        for (neuron, signal) in activity.hidden.iter().enumerate() {
            let weights = SCORE_WEIGHTS + neuron * CLASSES..SCORE_WEIGHTS + (neuron + 1) * CLASSES;
            add(&mut gradient[weights.clone()], &blame, *signal);
            // A silent neuron had no part in the answer.
            if *signal > 0.0 {
                hidden_blame[neuron] = dot(&self.weights[weights], &blame);
            }
        }
        add(&mut gradient[SCORE_BIASES..SIZE], &blame, 1.0);
        for (pixel, ink) in pixels.iter().enumerate() {
            let start = HIDDEN_WEIGHTS + pixel * HIDDEN;
            add(&mut gradient[start..start + HIDDEN], &hidden_blame, *ink);
        }
        add(&mut gradient[HIDDEN_BIASES..SCORE_WEIGHTS], &hidden_blame, 1.0);
        reading(&activity, digit)
    }

    /// One step against the gradient, with the momentum of the steps before.
    pub(crate) fn step(&mut self, gradient: &[f32]) {
        for ((weight, velocity), slope) in self.weights.iter_mut().zip(&mut self.velocity).zip(gradient) {
            *velocity = MOMENTUM * *velocity - LEARNING_RATE * slope;
            *weight += *velocity;
        }
    }

    fn activity(&self, pixels: &[f32]) -> Activity {
        let mut hidden = [0.0; HIDDEN];
        hidden.copy_from_slice(&self.weights[HIDDEN_BIASES..SCORE_WEIGHTS]);
        for (pixel, ink) in pixels.iter().enumerate() {
            let start = HIDDEN_WEIGHTS + pixel * HIDDEN;
            add(&mut hidden, &self.weights[start..start + HIDDEN], *ink);
        }
        for signal in &mut hidden {
            *signal = signal.max(0.0);
        }
        let mut scores = [0.0; CLASSES];
        scores.copy_from_slice(&self.weights[SCORE_BIASES..SIZE]);
        for (neuron, signal) in hidden.iter().enumerate() {
            let start = SCORE_WEIGHTS + neuron * CLASSES;
            add(&mut scores, &self.weights[start..start + CLASSES], *signal);
        }
        Activity {
            hidden,
            likely: softmax(scores),
        }
    }
}

/// Small weights of both signs; the more come together in a neuron, the smaller.
fn fill(weights: &mut [f32], inputs: usize, chance: &mut Rng) {
    let range = (6.0 / inputs as f32).sqrt();
    for weight in weights {
        *weight = (chance.f32() * 2.0 - 1.0) * range;
    }
}

fn add(sum: &mut [f32], values: &[f32], times: f32) {
    for (sum, value) in sum.iter_mut().zip(values) {
        *sum += value * times;
    }
}

fn dot(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

fn softmax(mut scores: [f32; CLASSES]) -> [f32; CLASSES] {
    let highest = scores.iter().copied().fold(f32::MIN, f32::max);
    let mut sum = 0.0;
    for score in &mut scores {
        *score = (*score - highest).exp();
        sum += *score;
    }
    scores.map(|score| score / sum)
}

fn reading(activity: &Activity, digit: usize) -> Reading {
    let likely = activity.likely[digit];
    Reading {
        loss: -likely.max(f32::MIN_POSITIVE).ln(),
        is_right: activity.likely.iter().all(|other| *other <= likely),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digits::{Set, draw};

    #[test]
    fn the_gradient_is_the_slope_of_the_loss() {
        let mut pixels = vec![0.0; PIXELS];
        let digit = draw(Set::Learn, 3, &mut pixels);
        let mut model = Model::untaught();
        let mut gradient = vec![0.0; SIZE];
        model.learn(&pixels, digit, &mut gradient);
        for index in [
            0,
            130 * HIDDEN + 5,
            HIDDEN_BIASES + 3,
            SCORE_WEIGHTS + 17,
            SCORE_BIASES + digit,
        ] {
            let (weight, nudge) = (model.weights[index], 1e-2);
            model.weights[index] = weight + nudge;
            let above = model.read(&pixels, digit).loss;
            model.weights[index] = weight - nudge;
            let below = model.read(&pixels, digit).loss;
            model.weights[index] = weight;
            let slope = (above - below) / (2.0 * nudge);
            assert!(
                (slope - gradient[index]).abs() < 5e-3,
                "weight {index}: {slope} and {}",
                gradient[index]
            );
        }
    }

    #[test]
    fn an_untaught_model_guesses() {
        let model = Model::untaught();
        let mut pixels = vec![0.0; PIXELS];
        let right = (0..500)
            .filter(|number| {
                let digit = draw(Set::Exam, *number, &mut pixels);
                model.read(&pixels, digit).is_right
            })
            .count();
        assert!(right < 150, "{right} of 500 without a lesson");
    }
}
