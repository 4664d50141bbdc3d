use bytes::Bytes;
use proptest::prelude::*;

use super::*;

/// A frame as a client sends it.
fn sent(first: u8, payload: &[u8], mask: [u8; 4]) -> Vec<u8> {
    let mut out = vec![first];
    match payload.len() {
        length @ 0..=125 => out.push(MASKED | length as u8),
        length @ 126..=0xffff => {
            out.push(MASKED | 0x7e);
            out.extend((length as u16).to_be_bytes());
        }
        length => {
            out.push(MASKED | 0x7f);
            out.extend((length as u64).to_be_bytes());
        }
    }
    out.extend(mask);
    out.extend(
        payload
            .iter()
            .zip(mask.iter().cycle())
            .map(|(byte, key)| byte ^ key),
    );
    out
}

/// Every message and ping, put together again.
fn decode_all(bytes: &[u8], step: usize) -> Result<(Vec<Vec<u8>>, Vec<Bytes>), WebSocketError> {
    let mut decoder = Decoder::default();
    let (mut messages, mut pings, mut message) = (Vec::new(), Vec::new(), Vec::new());
    for piece in bytes.chunks(step.max(1)) {
        decoder.push(piece);
        while let Some(event) = decoder.decode()? {
            match event {
                Event::Piece {
                    bytes,
                    is_first,
                    is_last,
                } => {
                    assert!(!is_first || message.is_empty());
                    message.extend_from_slice(&bytes);
                    if is_last {
                        messages.push(std::mem::take(&mut message));
                    }
                }
                Event::Ping(payload) => pings.push(payload),
                Event::Close => {}
            }
        }
    }
    Ok((messages, pings))
}

proptest! {
    #[test]
    fn messages_come_whole_however_they_are_cut(
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..6),
        mask in any::<[u8; 4]>(),
        frame in 1_usize..100,
        step in 1_usize..400,
    ) {
        let mut wire = Vec::new();
        let mut pings = Vec::new();
        for message in &messages {
            let frames: Vec<&[u8]> = if message.is_empty() { vec![&[]] } else { message.chunks(frame).collect() };
            for (index, payload) in frames.iter().enumerate() {
                let opcode = if index == 0 { BINARY } else { CONTINUATION };
                let last = if index + 1 == frames.len() { FIN } else { 0 };
                wire.extend(sent(opcode | last, payload, mask));
                // A ping may come between the frames of a message.
                wire.extend(sent(FIN | PING, b"there?", mask));
                pings.push(Bytes::from_static(b"there?"));
            }
        }
        prop_assert_eq!(decode_all(&wire, step).unwrap(), (messages, pings));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), step in 1_usize..50) {
        let _ = decode_all(&bytes, step);
    }
}

#[test]
fn a_huge_frame_passes_in_pieces() {
    let mut decoder = Decoder::default();
    let mut head = vec![FIN | BINARY, MASKED | 0x7f];
    head.extend((1_u64 << 40).to_be_bytes());
    head.extend([0; 4]);
    decoder.push(&head);
    assert_eq!(decoder.decode(), Ok(None));
    for _ in 0..100 {
        decoder.push(&[7; 4096]);
        assert!(
            matches!(decoder.decode(), Ok(Some(Event::Piece { bytes, is_last: false, .. })) if bytes.len() == 4096)
        );
    }
}

#[test]
fn what_breaks_the_protocol_is_refused() {
    let refused = |bytes: &[u8]| decode_all(bytes, 64).unwrap_err();
    assert_eq!(refused(&[FIN | BINARY, 0]), WebSocketError::Unmasked);
    assert_eq!(refused(&[0xf2, MASKED]), WebSocketError::Reserved);
    assert_eq!(
        refused(&sent(FIN | PING, &[0; 126], [0; 4])),
        WebSocketError::Control
    );
    assert_eq!(refused(&sent(PING, b"", [0; 4])), WebSocketError::Control);
    assert_eq!(
        refused(&sent(FIN | CONTINUATION, b"", [0; 4])),
        WebSocketError::Order
    );
    let twice = [sent(BINARY, b"", [0; 4]), sent(BINARY, b"", [0; 4])].concat();
    assert_eq!(refused(&twice), WebSocketError::Order);
    assert_eq!(refused(&sent(FIN | 3, b"", [0; 4])), WebSocketError::Opcode(3));
}

#[test]
fn frames_of_every_length_are_written() {
    for length in [0, 1, 125, 126, 0xffff, 0x1_0000] {
        let payload = vec![1_u8; length];
        let frame = message(Kind::Binary, &[&payload[..length / 2], &payload[length / 2..]]);
        let head = match length {
            0..=125 => 2,
            126..=0xffff => 4,
            _ => 10,
        };
        assert_eq!(frame.len(), head + length);
        assert_eq!(&frame[head..], payload);
    }
    assert_eq!(&close(1000)[..], [0x88, 2, 3, 0xe8]);
    assert_eq!(&pong(b"x")[..], [0x8a, 1, b'x']);
    assert_eq!(&message(Kind::Text, &[b"a"])[..], [0x81, 1, b'a']);
}

#[test]
fn a_client_masks_what_a_server_reads_and_reads_what_a_server_sends() {
    for length in [0, 125, 126, 0x1_0000] {
        let payload = vec![7_u8; length];
        let frame = message(Kind::Binary, &[&payload]);
        assert_eq!(
            masked(&frame, [1, 2, 3, 4]),
            sent(FIN | BINARY, &payload, [1, 2, 3, 4])
        );
        let mut decoder = Decoder::of(Side::Server);
        decoder.push(&frame);
        let whole = Event::Piece {
            bytes: payload.into(),
            is_first: true,
            is_last: true,
        };
        assert_eq!(decoder.decode(), Ok(Some(whole)));
    }
    let mut decoder = Decoder::of(Side::Server);
    decoder.push(&masked(&ping(), [0; 4]));
    assert_eq!(decoder.decode(), Err(WebSocketError::Masked));
}
