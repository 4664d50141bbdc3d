//! Windows that move over pictures: convolutions and pooling. Pictures are `[batch, height, width, channels]`.

use super::{
    Made, counted, from, integers, made,
    matmul::{Factor as _, Matrix},
    network::is_channels_first,
    not_for,
    shapes::transpose,
    size, values,
};
use crate::{
    graph::Attributes as _,
    proto::NodeDef,
    tensor::{DType, Tensor},
};

pub(super) fn kernel(node: &NodeDef) -> Option<Made> {
    Some(match node.op.as_str() {
        "Conv2D" => {
            windows(node).map(|windows| from(move |[picture, filter]| windows.convolve(picture, &filter)))
        }
        "DepthwiseConv2dNative" => {
            windows(node).map(|windows| from(move |[picture, filter]| windows.depthwise(picture, &filter)))
        }
        "Conv2DBackpropInput" => windows(node).map(|windows| {
            from(move |[sizes, filter, picture]| windows.spread(&integers(&sizes)?, &filter, picture))
        }),
        "MaxPool" => pool(node, true),
        "AvgPool" => pool(node, false),
        _ => return None,
    })
}

#[derive(Clone, Debug, PartialEq)]
enum Padding {
    Same,
    Valid,
    /// Before and after, for height and width.
    Explicit([[usize; 2]; 2]),
}

/// How a window moves. Height first.
#[derive(Clone, Debug)]
struct Windows {
    strides: [usize; 2],
    dilations: [usize; 2],
    padding: Padding,
    channels_first: bool,
}

fn windows(node: &NodeDef) -> Result<Windows, String> {
    let dtype = node.dtype("T")?;
    if dtype != DType::F32 {
        return Err(not_for(dtype));
    }
    let channels_first = is_channels_first(node);
    let padding = match node.text("padding") {
        "SAME" => Padding::Same,
        "VALID" => Padding::Valid,
        "EXPLICIT" => {
            let given = node.ints("explicit_paddings");
            let at = if channels_first { 4 } else { 2 };
            let both = given.get(at..at + 4).ok_or("its borders are not given")?;
            let both = both
                .iter()
                .map(|value| size(*value))
                .collect::<Result<Vec<_>, _>>()?;
            Padding::Explicit([[both[0], both[1]], [both[2], both[3]]])
        }
        other => return Err(format!("there is no padding `{other}`")),
    };
    Ok(Windows {
        strides: of_picture(node, "strides", channels_first)?,
        dilations: of_picture(node, "dilations", channels_first)?,
        padding,
        channels_first,
    })
}

/// The two of four numbers that are about height and width.
fn of_picture(node: &NodeDef, name: &str, channels_first: bool) -> Result<[usize; 2], String> {
    let given = node.ints(name);
    if given.is_empty() {
        return Ok([1, 1]);
    }
    let at = if channels_first { 2 } else { 1 };
    match given.get(at..at + 2) {
        Some(&[height, width]) if height > 0 && width > 0 => Ok([size(height)?, size(width)?]),
        _ => Err(format!("`{name}` are not four numbers")),
    }
}

/// Along one axis: how large the result is and how much lies before the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    count: usize,
    before: usize,
}

impl Windows {
    fn span(&self, axis: usize, whole: usize, window: usize) -> Result<Span, String> {
        let (stride, dilation) = (self.strides[axis], self.dilations[axis]);
        let reach = window.saturating_sub(1) * dilation + 1;
        let (count, before) = match &self.padding {
            Padding::Same => {
                let count = whole.div_ceil(stride);
                let needed = (count.saturating_sub(1) * stride + reach).saturating_sub(whole);
                (count, needed / 2)
            }
            Padding::Valid => ((whole + stride).saturating_sub(reach) / stride, 0),
            Padding::Explicit(borders) => {
                let [before, after] = borders[axis];
                (
                    (whole + before + after + stride).saturating_sub(reach) / stride,
                    before,
                )
            }
        };
        if window == 0 {
            return Err("the window is empty".to_owned());
        }
        Ok(Span { count, before })
    }

    /// Channels last, whatever they were.
    fn taken(&self, picture: Tensor) -> Result<Tensor, String> {
        if picture.rank() != 4 {
            return Err(format!(
                "pictures have four dimensions, not {:?}",
                picture.shape()
            ));
        }
        if self.channels_first {
            transpose(picture, &[0, 2, 3, 1])
        } else {
            Ok(picture)
        }
    }

    fn given(&self, picture: Tensor) -> Result<Tensor, String> {
        if self.channels_first {
            transpose(picture, &[0, 3, 1, 2])
        } else {
            Ok(picture)
        }
    }

    fn convolve(&self, picture: Tensor, filter: &Tensor) -> Result<Tensor, String> {
        let picture = self.taken(picture)?;
        let (&[batch, height, width, channels], &[tall, wide, depth, filters]) =
            (picture.shape(), filter.shape())
        else {
            return Err("a filter has four dimensions".to_owned());
        };
        if depth == 0 || channels % depth != 0 || filters % (channels / depth).max(1) != 0 {
            return Err(format!(
                "a filter of shape {:?} does not fit {channels} channels",
                filter.shape()
            ));
        }
        let groups = channels / depth;
        let (down, right) = (self.span(0, height, tall)?, self.span(1, width, wide)?);
        let shape = [batch, down.count, right.count, filters];
        let mut result = vec![0.0; counted(&shape)?];
        let (from, weights) = (values::<f32>(&picture)?, values::<f32>(filter)?);
        let is_plain = tall == 1 && wide == 1 && self.strides == [1, 1] && groups == 1;
        if is_plain && !from.is_empty() {
            product(from, channels, weights, filters, &mut result);
            return self.given(made(&shape, result)?);
        }
        let per_group = filters / groups;
        let taps = tall * wide * depth;
        let places = down.count * right.count;
        let mut patches = vec![0.0; places * taps];
        let mut part = vec![0.0; places * per_group];
        // The weights of a group stand apart, one column a filter.
        let of_group = |group: usize| -> Vec<f32> {
            (0..taps)
                .flat_map(|tap| &weights[tap * filters + group * per_group..][..per_group])
                .copied()
                .collect()
        };
        let columns: Vec<Vec<f32>> = if groups > 1 {
            (0..groups).map(of_group).collect()
        } else {
            Vec::new()
        };
        for image in 0..batch {
            let from = &from[image * height * width * channels..(image + 1) * height * width * channels];
            let result = &mut result[image * places * filters..(image + 1) * places * filters];
            for group in 0..groups {
                let source = Source {
                    from,
                    height,
                    width,
                    channels,
                    first: group * depth,
                    depth,
                };
                self.patches(&source, [tall, wide], [down, right], &mut patches);
                if groups == 1 {
                    product(&patches, taps, weights, filters, result);
                } else {
                    part.fill(0.0);
                    product(&patches, taps, &columns[group], per_group, &mut part);
                    for (place, values) in part.chunks(per_group).enumerate() {
                        result[place * filters + group * per_group..][..per_group].copy_from_slice(values);
                    }
                }
            }
        }
        self.given(made(&shape, result)?)
    }

    /// What each window sees, one row a place.
    fn patches(&self, source: &Source<'_>, window: [usize; 2], spans: [Span; 2], patches: &mut [f32]) {
        let taps = window[0] * window[1] * source.depth;
        for (place, patch) in patches.chunks_mut(taps.max(1)).enumerate() {
            let (row, column) = (place / spans[1].count, place % spans[1].count);
            for (tap, cell) in patch.chunks_mut(source.depth).enumerate() {
                let (tap_row, tap_column) = (tap / window[1], tap % window[1]);
                let y = (row * self.strides[0] + tap_row * self.dilations[0]).checked_sub(spans[0].before);
                let x =
                    (column * self.strides[1] + tap_column * self.dilations[1]).checked_sub(spans[1].before);
                match (y.filter(|y| *y < source.height), x.filter(|x| *x < source.width)) {
                    (Some(y), Some(x)) => {
                        let at = (y * source.width + x) * source.channels + source.first;
                        cell.copy_from_slice(&source.from[at..at + source.depth]);
                    }
                    _ => cell.fill(0.0),
                }
            }
        }
    }

    fn depthwise(&self, picture: Tensor, filter: &Tensor) -> Result<Tensor, String> {
        let picture = self.taken(picture)?;
        let (&[batch, height, width, channels], &[tall, wide, depth, times]) =
            (picture.shape(), filter.shape())
        else {
            return Err("a filter has four dimensions".to_owned());
        };
        if depth != channels {
            return Err(format!(
                "a filter of shape {:?} does not fit {channels} channels",
                filter.shape()
            ));
        }
        let (down, right) = (self.span(0, height, tall)?, self.span(1, width, wide)?);
        let outputs = channels * times;
        let shape = [batch, down.count, right.count, outputs];
        let mut result = vec![0.0; counted(&shape)?];
        let (from, weights) = (values::<f32>(&picture)?, values::<f32>(filter)?);
        for (place, result) in result.chunks_mut(outputs.max(1)).enumerate() {
            let (column, rest) = (place % right.count, place / right.count);
            let (row, image) = (rest % down.count, rest / down.count);
            for tap in 0..tall * wide {
                let y = (row * self.strides[0] + tap / wide * self.dilations[0]).checked_sub(down.before);
                let x = (column * self.strides[1] + tap % wide * self.dilations[1]).checked_sub(right.before);
                let (Some(y), Some(x)) = (y.filter(|y| *y < height), x.filter(|x| *x < width)) else {
                    continue;
                };
                let from = &from[((image * height + y) * width + x) * channels..][..channels];
                let weights = &weights[tap * outputs..][..outputs];
                if times == 1 {
                    for ((result, value), weight) in result.iter_mut().zip(from).zip(weights) {
                        *result += value * weight;
                    }
                } else {
                    let pairs = result.chunks_mut(times).zip(from).zip(weights.chunks(times));
                    for ((result, value), weights) in pairs {
                        for (result, weight) in result.iter_mut().zip(weights) {
                            *result += value * weight;
                        }
                    }
                }
            }
        }
        self.given(made(&shape, result)?)
    }

    /// The other way round: each value is spread over its window. What Keras calls a transposed convolution.
    fn spread(&self, sizes: &[i64], filter: &Tensor, picture: Tensor) -> Result<Tensor, String> {
        let picture = self.taken(picture)?;
        let sizes = sizes
            .iter()
            .map(|value| size(*value))
            .collect::<Result<Vec<_>, _>>()?;
        let (&[tall, wide, depth, filters], &[batch, rows, columns, channels]) =
            (filter.shape(), picture.shape())
        else {
            return Err("a filter has four dimensions".to_owned());
        };
        let ((&[_, height, width, _] | &[height, width], false)
        | (&[_, _, height, width] | &[height, width], true)) = (sizes.as_slice(), self.channels_first)
        else {
            return Err(format!("a picture of sizes {sizes:?} is not one"));
        };
        if channels != filters {
            return Err(format!(
                "a filter of shape {:?} does not fit {channels} channels",
                filter.shape()
            ));
        }
        let (down, right) = (self.span(0, height, tall)?, self.span(1, width, wide)?);
        if (down.count, right.count) != (rows, columns) {
            return Err(format!(
                "a picture of {rows} × {columns} does not become one of {height} × {width}"
            ));
        }
        let shape = [batch, height, width, depth];
        let mut result = vec![0.0; counted(&shape)?];
        let (from, weights) = (values::<f32>(&picture)?, values::<f32>(filter)?);
        for (place, cell) in from.chunks(channels.max(1)).enumerate() {
            let (column, rest) = (place % columns, place / columns);
            let (row, image) = (rest % rows, rest / rows);
            for tap in 0..tall * wide {
                let y = (row * self.strides[0] + tap / wide * self.dilations[0]).checked_sub(down.before);
                let x = (column * self.strides[1] + tap % wide * self.dilations[1]).checked_sub(right.before);
                let (Some(y), Some(x)) = (y.filter(|y| *y < height), x.filter(|x| *x < width)) else {
                    continue;
                };
                let result = &mut result[((image * height + y) * width + x) * depth..][..depth];
                for (result, weights) in result
                    .iter_mut()
                    .zip(weights[tap * depth * filters..].chunks(filters))
                {
                    *result += cell
                        .iter()
                        .zip(weights)
                        .map(|(value, weight)| value * weight)
                        .sum::<f32>();
                }
            }
        }
        self.given(made(&shape, result)?)
    }
}

/// The channels of a picture that a group of filters sees.
struct Source<'a> {
    from: &'a [f32],
    height: usize,
    width: usize,
    channels: usize,
    first: usize,
    depth: usize,
}

fn product(left: &[f32], inner: usize, right: &[f32], columns: usize, result: &mut [f32]) {
    let left = Matrix {
        values: left,
        rows: left.len() / inner.max(1),
        columns: inner,
        turned: false,
    };
    let right = Matrix {
        values: right,
        rows: inner,
        columns,
        turned: false,
    };
    f32::product(left, right, result);
}

fn pool(node: &NodeDef, is_greatest: bool) -> Made {
    let windows = windows(node)?;
    let size = of_picture(node, "ksize", windows.channels_first)?;
    Ok(from(move |[picture]| {
        let picture = windows.taken(picture)?;
        let &[batch, height, width, channels] = picture.shape() else {
            return Err(String::new());
        };
        let (down, right) = (
            windows.span(0, height, size[0])?,
            windows.span(1, width, size[1])?,
        );
        let shape = [batch, down.count, right.count, channels];
        let start = if is_greatest { f32::NEG_INFINITY } else { 0.0 };
        let mut result = vec![start; counted(&shape)?];
        let from = values::<f32>(&picture)?;
        for (place, result) in result.chunks_mut(channels.max(1)).enumerate() {
            let (column, rest) = (place % right.count, place / right.count);
            let (row, image) = (rest % down.count, rest / down.count);
            let mut seen = 0;
            for tap in 0..size[0] * size[1] {
                let y = (row * windows.strides[0] + tap / size[1]).checked_sub(down.before);
                let x = (column * windows.strides[1] + tap % size[1]).checked_sub(right.before);
                let (Some(y), Some(x)) = (y.filter(|y| *y < height), x.filter(|x| *x < width)) else {
                    continue;
                };
                seen += 1;
                let from = &from[((image * height + y) * width + x) * channels..][..channels];
                for (result, value) in result.iter_mut().zip(from) {
                    *result = if is_greatest {
                        result.max(*value)
                    } else {
                        *result + value
                    };
                }
            }
            // What lies outside does not count.
            if !is_greatest && seen > 0 {
                for value in result.iter_mut() {
                    *value /= seen as f32;
                }
            }
        }
        windows.given(made(&shape, result)?)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(padding: Padding) -> Windows {
        Windows {
            strides: [1, 1],
            dilations: [1, 1],
            padding,
            channels_first: false,
        }
    }

    fn picture(shape: &[usize]) -> Tensor {
        let count: usize = shape.iter().product();
        Tensor::new(shape, (0..count).map(|value| value as f32).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_window_sees_its_neighbours() {
        let ones = Tensor::new([3_usize, 3, 1, 1].as_slice(), vec![1.0_f32; 9]).unwrap();
        let sums = windows(Padding::Same)
            .convolve(picture(&[1, 3, 3, 1]), &ones)
            .unwrap();
        assert_eq!(
            sums.values(),
            Some([8.0_f32, 15.0, 12.0, 21.0, 36.0, 27.0, 20.0, 33.0, 24.0].as_slice())
        );
        let sums = windows(Padding::Valid)
            .convolve(picture(&[1, 3, 3, 1]), &ones)
            .unwrap();
        assert_eq!(
            (sums.shape(), sums.values()),
            ([1, 1, 1, 1].as_slice(), Some([36.0_f32].as_slice()))
        );
    }

    #[test]
    fn groups_of_channels_have_filters_of_their_own() {
        let one = windows(Padding::Valid);
        let filter = Tensor::new([1_usize, 1, 1, 2].as_slice(), vec![1.0_f32, 10.0]).unwrap();
        let result = one.convolve(picture(&[1, 1, 2, 2]), &filter).unwrap();
        assert_eq!(result.values(), Some([0.0_f32, 10.0, 2.0, 30.0].as_slice()));
    }

    #[test]
    fn channels_may_come_first() {
        let filter = picture(&[2, 2, 3, 4]);
        let last = picture(&[2, 5, 5, 3]);
        let first = transpose(last.clone(), &[0, 3, 1, 2]).unwrap();
        let windows = windows(Padding::Same);
        let turned = Windows {
            channels_first: true,
            ..windows.clone()
        };
        let wanted = windows.convolve(last, &filter).unwrap();
        let result = transpose(turned.convolve(first, &filter).unwrap(), &[0, 2, 3, 1]).unwrap();
        assert_eq!(result, wanted);
    }
}
