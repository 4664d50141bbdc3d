//! Pictures of digits, drawn, turned, moved and smudged by chance: data that needs no download. The
//! same number always gives the same picture.

use fastrand::Rng;

/// Pictures are squares of this many pixels a side.
pub(crate) const SIDE: usize = 16;
pub(crate) const PIXELS: usize = SIDE * SIDE;
pub(crate) const CLASSES: usize = 10;

const GLYPH_WIDTH: usize = 5;
const GLYPH_HEIGHT: usize = 7;

/// How the digits are written: seven rows of five dots.
#[rustfmt::skip]
const GLYPHS: [[&[u8; GLYPH_WIDTH]; GLYPH_HEIGHT]; CLASSES] = [
    [b" ### ", b"#   #", b"#  ##", b"# # #", b"##  #", b"#   #", b" ### "],
    [b"  #  ", b" ##  ", b"# #  ", b"  #  ", b"  #  ", b"  #  ", b"#####"],
    [b" ### ", b"#   #", b"    #", b"  ## ", b" #   ", b"#    ", b"#####"],
    [b" ### ", b"#   #", b"    #", b"  ## ", b"    #", b"#   #", b" ### "],
    [b"   # ", b"  ## ", b" # # ", b"#  # ", b"#####", b"   # ", b"   # "],
    [b"#####", b"#    ", b"#### ", b"    #", b"    #", b"#   #", b" ### "],
    [b"  ## ", b" #   ", b"#    ", b"#### ", b"#   #", b"#   #", b" ### "],
    [b"#####", b"    #", b"   # ", b"  #  ", b" #   ", b" #   ", b" #   "],
    [b" ### ", b"#   #", b"#   #", b" ### ", b"#   #", b"#   #", b" ### "],
    [b" ### ", b"#   #", b"#   #", b" ####", b"    #", b"   # ", b" ##  "],
];

/// Which pictures are meant: those to learn from and those to be examined on have nothing in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    Learn,
    Exam,
}

/// Draws picture `number` of a set into `pixels` and says which digit it shows.
pub(crate) fn draw(set: Set, number: u64, pixels: &mut [f32]) -> usize {
    let mut chance = Rng::with_seed(seed(set, number));
    let digit = chance.usize(..CLASSES);
    let hand = Hand::by(&mut chance);
    for (position, pixel) in pixels.iter_mut().enumerate() {
        let ink = hand.ink(digit, position % SIDE, position / SIDE);
        let smudge = 0.25 * (chance.f32() + chance.f32() + chance.f32() - 1.5);
        *pixel = ink + smudge;
    }
    digit
}

fn seed(set: Set, number: u64) -> u64 {
    // Neighbouring seeds of a small generator give neighbouring numbers, so they are spread.
    let set = match set {
        Set::Learn => 0x9e37_79b9_7f4a_7c15,
        Set::Exam => 0xd1b5_4a32_d192_ed03,
    };
    xxhash_rust::xxh3::xxh3_64_with_seed(&number.to_le_bytes(), set)
}

/// How one picture is written: turned, stretched and moved.
struct Hand {
    sine: f32,
    cosine: f32,
    width: f32,
    height: f32,
    right: f32,
    down: f32,
}

impl Hand {
    fn by(chance: &mut Rng) -> Self {
        let mut within = |range: f32| (chance.f32() * 2.0 - 1.0) * range;
        let angle = within(0.3);
        Self {
            sine: angle.sin(),
            cosine: angle.cos(),
            width: 1.9 + within(0.5),
            height: 1.9 + within(0.4),
            right: within(2.0),
            down: within(1.5),
        }
    }

    /// How dark a pixel is: its place is followed back to the glyph it was drawn from.
    fn ink(&self, digit: usize, column: usize, row: usize) -> f32 {
        let middle = (SIDE as f32 - 1.0) / 2.0;
        let x = column as f32 - middle - self.right;
        let y = row as f32 - middle - self.down;
        let across = (x * self.cosine + y * self.sine) / self.width + (GLYPH_WIDTH as f32 - 1.0) / 2.0;
        let along = (y * self.cosine - x * self.sine) / self.height + (GLYPH_HEIGHT as f32 - 1.0) / 2.0;
        between_dots(digit, across, along)
    }
}

/// The darkness at a point between four dots of a glyph: each counts by how near it is.
fn between_dots(digit: usize, across: f32, along: f32) -> f32 {
    let (left, top) = (across.floor(), along.floor());
    let (to_right, to_bottom) = (across - left, along - top);
    let row = |y: f32| (1.0 - to_right) * dot(digit, left, y) + to_right * dot(digit, left + 1.0, y);
    (1.0 - to_bottom) * row(top) + to_bottom * row(top + 1.0)
}

fn dot(digit: usize, column: f32, row: f32) -> f32 {
    let inside = (0.0..GLYPH_WIDTH as f32).contains(&column) && (0.0..GLYPH_HEIGHT as f32).contains(&row);
    if inside && GLYPHS[digit][row as usize][column as usize] == b'#' {
        1.0
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(set: Set, number: u64) -> (usize, Vec<f32>) {
        let mut pixels = vec![0.0; PIXELS];
        (draw(set, number, &mut pixels), pixels)
    }

    #[test]
    fn the_same_number_gives_the_same_picture() {
        assert_eq!(picture(Set::Learn, 7), picture(Set::Learn, 7));
    }

    #[test]
    fn the_exam_has_other_pictures_than_the_lessons() {
        assert_ne!(picture(Set::Learn, 7).1, picture(Set::Exam, 7).1);
    }

    #[test]
    fn every_digit_occurs_about_as_often() {
        let mut seen = [0; CLASSES];
        for number in 0..5000 {
            seen[picture(Set::Learn, number).0] += 1;
        }
        assert!(seen.iter().all(|count| (400..600).contains(count)), "{seen:?}");
    }
}
