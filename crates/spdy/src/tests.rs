use bytes::Bytes;
use proptest::prelude::*;

use super::*;

fn headers(pairs: &[(&str, &str)]) -> Headers {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// Everything that comes out when the bytes go in, in pieces of a size.
fn decode(bytes: &[u8], piece: usize) -> Vec<Frame> {
    let mut decoder = Decoder::default();
    let mut frames = Vec::new();
    for piece in bytes.chunks(piece) {
        decoder.push(piece);
        while let Some(frame) = decoder.decode().unwrap() {
            frames.push(frame);
        }
    }
    frames
}

#[test]
fn what_is_encoded_is_decoded_whatever_the_pieces() {
    let frames = [
        Frame::Open {
            stream: 1,
            is_last: true,
            headers: headers(&[("streamtype", "error"), ("port", "8080"), ("requestid", "0")]),
        },
        Frame::Open {
            stream: 3,
            is_last: false,
            headers: headers(&[("streamtype", "data"), ("port", "8080"), ("requestid", "0")]),
        },
        Frame::Reply {
            stream: 3,
            is_last: false,
            headers: Vec::new(),
        },
        Frame::Ping { id: 7 },
        Frame::Reset { stream: 1, status: 5 },
        Frame::GoAway { last: 3 },
    ];
    let mut encoder = Encoder::default();
    let bytes: Vec<u8> = frames.iter().flat_map(|frame| encoder.encode(frame)).collect();
    for piece in [1, 3, 64, bytes.len()] {
        assert_eq!(decode(&bytes, piece), frames);
    }
}

#[test]
fn data_passes_through_in_pieces_and_ends_once() {
    let sent = Bytes::from(vec![b'x'; 100_000]);
    let bytes = Encoder::default().encode(&Frame::Data {
        stream: 5,
        is_last: true,
        bytes: sent.clone(),
    });
    let frames = decode(&bytes, 1000);
    let mut received = Vec::new();
    let mut ends = 0;
    for frame in frames {
        let Frame::Data {
            stream,
            is_last,
            bytes,
        } = frame
        else {
            panic!("only data was sent");
        };
        assert_eq!(stream, 5);
        received.extend(bytes);
        ends += u32::from(is_last);
    }
    assert_eq!((received.len(), ends), (sent.len(), 1));
}

#[test]
fn an_empty_end_is_an_end() {
    let bytes = Encoder::default().encode(&Frame::Data {
        stream: 5,
        is_last: true,
        bytes: Bytes::new(),
    });
    assert!(matches!(
        decode(&bytes, 4)[..],
        [Frame::Data { is_last: true, .. }]
    ));
}

#[test]
fn another_version_is_refused() {
    let mut decoder = Decoder::default();
    decoder.push(&[0x80, 2, 0, 1, 0, 0, 0, 0]);
    assert_eq!(decoder.decode(), Err(SpdyError::Version(2)));
}

#[test]
fn a_large_control_frame_is_refused_before_it_is_held() {
    let mut decoder = Decoder::default();
    decoder.push(&[0x80, 3, 0, 1, 0, 0xff, 0xff, 0xff]);
    assert!(matches!(decoder.decode(), Err(SpdyError::TooLarge(_))));
}

proptest! {
    #[test]
    fn no_bytes_make_the_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut decoder = Decoder::default();
        decoder.push(&bytes);
        while let Ok(Some(_)) = decoder.decode() {}
    }

    #[test]
    fn headers_survive_the_journey(pairs in proptest::collection::vec(("[a-z]{1,20}", ".{0,200}"), 0..20)) {
        let frame = Frame::Reply { stream: 1, is_last: false, headers: pairs };
        let mut encoder = Encoder::default();
        let mut bytes = encoder.encode(&frame).to_vec();
        bytes.extend(encoder.encode(&frame));
        prop_assert_eq!(decode(&bytes, 100), vec![frame.clone(), frame]);
    }
}
