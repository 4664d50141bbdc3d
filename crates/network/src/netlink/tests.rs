use super::*;

#[test]
fn attributes_are_padded_and_nests_know_their_length() {
    let message = Message::new("ask", 1, 0, &[])
        .nested(7, |inner| inner.attribute(1, &[1, 2, 3]).attribute(2, &[4]))
        .attribute(8, &[]);

    let nest = 4 + 8 + 8;
    let mut expected: Vec<u8> = Vec::new();
    expected.extend((nest as u16).to_ne_bytes());
    expected.extend((7_u16 | 0x8000).to_ne_bytes());
    expected.extend([7, 0, 1, 0, 1, 2, 3, 0]);
    expected.extend([5, 0, 2, 0, 4, 0, 0, 0]);
    expected.extend([4, 0, 8, 0]);
    assert_eq!(message.bytes[HEADER..], expected);
}

#[test]
fn a_refusal_is_told_apart_from_an_acknowledgement() {
    let answer = |sequence: u32, code: i32| {
        let mut bytes = Vec::new();
        bytes.extend(36_u32.to_ne_bytes());
        bytes.extend((libc::NLMSG_ERROR as u16).to_ne_bytes());
        bytes.extend(0_u16.to_ne_bytes());
        bytes.extend(sequence.to_ne_bytes());
        bytes.extend(0_u32.to_ne_bytes());
        bytes.extend(code.to_ne_bytes());
        bytes.resize(36, 0);
        bytes
    };
    let bytes = [answer(0, 0), answer(1, -libc::EEXIST)].concat();
    assert_eq!(
        acknowledgements(&bytes).unwrap(),
        [(0, None), (1, Some(Errno::EEXIST))]
    );
}

#[test]
fn an_answer_that_is_cut_short_is_an_error() {
    assert!(acknowledgements(&[1, 2, 3]).is_err());
    assert!(acknowledgements(&[0; 16]).is_err());
}
