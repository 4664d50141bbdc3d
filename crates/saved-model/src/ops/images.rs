//! Pictures of another size.

use super::{Made, casting::cast_to, counted, from, integers, made, not_for, size, values};
use crate::{
    graph::Attributes as _,
    proto::NodeDef,
    tensor::{DType, Tensor},
};

pub(super) fn kernel(node: &NodeDef) -> Option<Made> {
    let is_smooth = match node.op.as_str() {
        "ResizeBilinear" => true,
        "ResizeNearestNeighbor" => false,
        _ => return None,
    };
    let scaling = Scaling {
        align_corners: node.flag("align_corners"),
        half_pixels: node.flag("half_pixel_centers"),
        is_smooth,
    };
    Some(match node.dtype("T") {
        Ok(DType::F32 | DType::F64 | DType::U8 | DType::I32) => Ok(from(move |[picture, sizes]| {
            let dtype = picture.dtype();
            let resized = scaling.resize(&cast_to(picture, DType::F32)?, &integers(&sizes)?)?;
            // What is smooth is always a float; what is picked keeps its type.
            if is_smooth {
                Ok(resized)
            } else {
                cast_to(resized, dtype)
            }
        })),
        Ok(other) => Err(not_for(other)),
        Err(what) => Err(what),
    })
}

#[derive(Clone, Copy)]
struct Scaling {
    align_corners: bool,
    half_pixels: bool,
    is_smooth: bool,
}

/// Between which two places a place of the result lies, and how near the second.
type Between = (usize, usize, f32);

impl Scaling {
    fn places(self, whole: usize, wanted: usize) -> Vec<Between> {
        let scale = if self.align_corners && wanted > 1 {
            (whole - 1) as f32 / (wanted - 1) as f32
        } else {
            whole as f32 / wanted as f32
        };
        let last = whole - 1;
        let place = |index: usize| {
            if self.is_smooth {
                let at = if self.half_pixels {
                    (index as f32 + 0.5) * scale - 0.5
                } else {
                    index as f32 * scale
                };
                let lower = at.floor();
                let first = (lower.max(0.0) as usize).min(last);
                let second = (at.ceil().max(0.0) as usize).min(last);
                (first, second, at - lower)
            } else {
                let at = if self.half_pixels {
                    (index as f32 + 0.5) * scale
                } else {
                    index as f32 * scale
                };
                let at = if self.align_corners {
                    at.round()
                } else {
                    at.floor()
                };
                let at = (at.max(0.0) as usize).min(last);
                (at, at, 0.0)
            }
        };
        (0..wanted).map(place).collect()
    }

    fn resize(self, picture: &Tensor, sizes: &[i64]) -> Result<Tensor, String> {
        let (&[batch, height, width, channels], &[tall, wide]) = (picture.shape(), sizes) else {
            return Err("pictures have four dimensions and two sizes".to_owned());
        };
        let shape = [batch, size(tall)?, size(wide)?, channels];
        if height == 0 || width == 0 {
            return Err("an empty picture has no other size".to_owned());
        }
        let mut result = Vec::with_capacity(counted(&shape)?);
        let (rows, columns) = (self.places(height, shape[1]), self.places(width, shape[2]));
        let from = values::<f32>(picture)?;
        for image in 0..batch {
            for &(top, bottom, down) in &rows {
                for &(left, right, across) in &columns {
                    let cell = |row: usize, column: usize| {
                        &from[((image * height + row) * width + column) * channels..][..channels]
                    };
                    let corners = [
                        cell(top, left),
                        cell(top, right),
                        cell(bottom, left),
                        cell(bottom, right),
                    ];
                    result.extend((0..channels).map(|channel| {
                        let [first, second, third, fourth] = corners.map(|corner| corner[channel]);
                        let upper = first + (second - first) * across;
                        let lower = third + (fourth - third) * across;
                        upper + (lower - upper) * down
                    }));
                }
            }
        }
        made(&shape, result)
    }
}
