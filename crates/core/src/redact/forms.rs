//! The forms in which a secret value is printed: as it is, in JSON, in an address, in base64 and in
//! hexadecimal digits. What the lens sees through (`\/`, `\u0041`, `&amp;`) needs no form of its own.

/// The shortest form that is looked for. Base64 of a short value has little of it in every position.
const SHORTEST: usize = 8;
/// The shortest that may be left where letters of such a form spell others.
const SHORTEST_SEEN: usize = 6;

/// How much of a form may be at the end of the line before: where a line was broken nearer to its
/// beginning, the stream does not see that both belong together.
const LINE_END: usize = 3;

/// Every form as it is seen, none empty; some may be equal.
pub(super) fn of(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_vec()];
    forms.extend((0..3).map(|before| base64(value, before)));
    let wrapped: Vec<Vec<u8>> = forms
        .iter()
        .flat_map(|form| (1..=LINE_END).filter_map(|from| form.get(from..).map(<[u8]>::to_vec)))
        .filter(|form| form.len() > super::CUT)
        .collect();
    forms.extend(wrapped);
    if let Ok(text) = str::from_utf8(value) {
        for once in [json(text), json_of_ascii(text)] {
            forms.push(json(&once).into_bytes());
            forms.push(once.into_bytes());
        }
    }
    for digits in [b"0123456789ABCDEF", b"0123456789abcdef"] {
        let address = in_address(value, digits);
        forms.push(String::from_utf8_lossy(&address).replace("%20", "+").into_bytes());
        forms.push(address);
        forms.push(value.iter().flat_map(|byte| pair(*byte, digits)).collect());
    }
    for before in 0..3 {
        let for_addresses = base64(value, before).into_iter().map(|byte| match byte {
            b'+' => b'-',
            b'/' => b'_',
            byte => byte,
        });
        forms.push(for_addresses.collect());
    }
    forms.retain(|form| form.len() >= SHORTEST);
    // A value may hold what spells a letter.
    let seen: Vec<Vec<u8>> = forms.iter().map(|form| super::lens::seen(form)).collect();
    forms.extend(seen.into_iter().filter(|form| form.len() >= SHORTEST_SEEN));
    forms
}

/// The text in JSON as many write it: with numbers for all letters that are not in ASCII.
fn json_of_ascii(text: &str) -> String {
    let mut ascii = String::new();
    for c in json(text).chars() {
        match c.is_ascii() {
            true => ascii.push(c),
            false => c
                .encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|half| ascii.push_str(&format!("\\u{half:04x}"))),
        }
    }
    ascii
}

fn pair(byte: u8, digits: &[u8; 16]) -> [u8; 2] {
    [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]
}

/// The text as it stands between the quotation marks of JSON.
fn json(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}

fn in_address(value: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    let mut form = Vec::with_capacity(value.len());
    for byte in value {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(byte) {
            form.push(*byte);
        } else {
            form.push(b'%');
            form.extend(pair(*byte, digits));
        }
    }
    form
}

/// What is always there of the value in base64, with so many bytes in front of it that belong to the
/// same group of three.
fn base64(value: &[u8], before: usize) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = [&[0; 2][..before], value].concat();
    let bits = bytes.len() * 8;
    let byte = |at: usize| u16::from(bytes.get(at).copied().unwrap_or(0));
    // A letter counts if all of its six bits are of the value.
    let letters = (before * 8).div_ceil(6)..bits / 6;
    let six = |letter: usize| {
        let bit = letter * 6;
        let two = byte(bit / 8) << 8 | byte(bit / 8 + 1);
        LETTERS[usize::from(two >> (10 - bit % 8) & 63)]
    };
    letters.map(six).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn base64_is_found_at_every_offset() {
        // base64("hunter2hunter2"), of "x" + it, and of "xx" + it.
        assert_eq!(text(base64(b"hunter2hunter2", 0)), "aHVudGVyMmh1bnRlcj");
        assert!("eGh1bnRlcjJodW50ZXIy".contains(&text(base64(b"hunter2hunter2", 1))));
        assert!("eHhodW50ZXIyaHVudGVyMg==".contains(&text(base64(b"hunter2hunter2", 2))));
    }

    #[test]
    fn addresses_and_json_have_forms_of_their_own() {
        let forms: Vec<String> = of(b"pa/ss\"w rd").into_iter().map(text).collect();
        for form in ["pa/ss\"w rd", "pa%2Fss%22w%20rd", "pa%2fss%22w%20rd", "pa/ss\\\"w rd"] {
            assert!(forms.iter().any(|known| known == form), "{form}: {forms:?}");
        }
        assert!(forms.iter().any(|known| known == r#"pa/ss\\\"w rd"#), "{forms:?}");
    }
}
