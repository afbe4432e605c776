//! What is found, what stays, and that pieces and invisible marks do not matter.

use proptest::prelude::*;

use super::shapes::{How, Length, Needs};
use super::*;

const VALUE: &str = "hunter2-Hunter3/hunter4+\"x";

fn secrets() -> Secrets {
    Secrets::new([VALUE, "short", "zebra-zebra-1234"])
}

fn whole(secrets: &Secrets, kind: StreamKind, text: &[u8]) -> Vec<u8> {
    in_pieces(secrets, kind, &[text])
}

fn in_pieces(secrets: &Secrets, kind: StreamKind, pieces: &[&[u8]]) -> Vec<u8> {
    let (mut stream, mut out) = (secrets.stream(kind), vec![]);
    for piece in pieces {
        stream.feed(piece, &mut out);
        assert!(stream.held() <= 600, "{}", stream.held());
    }
    stream.finish(&mut out);
    out
}

#[test]
fn exact_values_go_in_every_form() {
    let secrets = secrets();
    let json = serde_json::to_string(VALUE).unwrap();
    for (text, expected) in [
        (format!("key={VALUE}."), "key=[redacted].".to_owned()),
        (format!("{{\"k\":{json}}}"), "{\"k\":\"[redacted]\"}".to_owned()),
        ("?k=hunter2-Hunter3%2Fhunter4%2B%22x&a".to_owned(), "?k=[redacted]&a".to_owned()),
        ("a short word".to_owned(), "a short word".to_owned()),
        ("zebra-zebra-1234zebra-zebra-1234".to_owned(), "[redacted][redacted]".to_owned()),
    ] {
        assert_eq!(secrets.redact(&text), expected);
    }
    // base64 of "user:" and the value: what is left says nothing of it.
    let basic = secrets.redact("dXNlcjpodW50ZXIyLUh1bnRlcjMvaHVudGVyNCsieA==");
    assert!(
        basic.starts_with("dXNlcj") && basic.ends_with("==") && basic.contains(MARK),
        "{basic}"
    );
    assert!(basic.len() < 26, "{basic}");
}

#[test]
fn a_value_that_was_cut_is_found_by_its_beginning() {
    let secrets = secrets();
    assert_eq!(secrets.redact("it is hunter2-Hunter3/"), "it is [redacted]");
    assert_eq!(secrets.redact("it is hunter2-Hunter3/…"), "it is [redacted]…");
    assert_eq!(secrets.redact("(hunter2-Hunter3/…) so"), "([redacted]…) so");
    assert_eq!(secrets.redact("it is hunter2-"), "it is hunter2-", "too little to tell");
    assert_eq!(secrets.redact("zebra-zebra-12 and on"), "zebra-zebra-12 and on");
}

#[test]
fn keys_are_known_by_their_looks() {
    let secrets = Secrets::default();
    for key in [
        "sk-ant-api03-AbCdEf123456789012345678901234567890-xyz_AA",
        "sk-proj-abcdefghijklmnop1234567890",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_11ABCDEFG0abcdefghijkl_mnop",
        "AKIAIOSFODNN7EXAMPLE",
        "xoxb-123456789012-abcdef",
        "glpat-abcdefghij1234567890",
    ] {
        for (before, after) in [("", ""), ("k=", "\n"), ("\"", "\""), ("\\n", "\\n"), ("(", ")")] {
            let text = format!("{before}{key}{after}");
            assert_eq!(secrets.redact(&text), format!("{before}{MARK}{after}"));
        }
    }
    assert_eq!(
        secrets.redact("Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.e30.abc123_-x"),
        "Authorization: Bearer [redacted]"
    );
    assert_eq!(
        secrets.redact("to https://ada:pass1@h.org:443/x and postgres://u:p@h/db"),
        "to https://[redacted]@h.org:443/x and postgres://[redacted]@h/db"
    );
}

const PEM: &str = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEpAIBAAKCAQEA7y+/=\nabcDEF123==\n-----END RSA PRIVATE KEY-----";

#[test]
fn a_private_key_goes_with_all_of_its_lines() {
    let secrets = Secrets::default();
    assert_eq!(secrets.redact(&format!("a\n{PEM}\nb: c\n")), "a\n[redacted]\nb: c\n");
    let indented = PEM.replace('\n', "\n    ");
    assert_eq!(secrets.redact(&format!("{indented} end")), "[redacted] end");
    let numbered = PEM.replace('\n', "\n     7→");
    assert_eq!(secrets.redact(&format!("     6→{numbered}\nx")), "     6→[redacted]\nx");
    // As text in JSON, and cut off in it: what follows stays whole.
    for text in [PEM.to_owned(), PEM[..60].to_owned(), format!("{} \"q\"", &PEM[..70])] {
        let json = serde_json::json!({ "a": text, "b": { "c": text } }).to_string();
        let out = String::from_utf8(whole(&secrets, StreamKind::Json, json.as_bytes())).unwrap();
        let read: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert!(read["a"].as_str().unwrap().starts_with(MARK), "{out}");
        assert!(!out.contains("MIIE"), "{out}");
    }
    let quoted = format!("{{\"a\":\"{}\\\"b\\\"\"}}", PEM[..31].replace('\n', "\\n"));
    let out = whole(&secrets, StreamKind::Json, quoted.as_bytes());
    assert_eq!(String::from_utf8(out).unwrap(), r#"{"a":"[redacted]\"b\""}"#);
    let talk = "the line -----BEGIN PRIVATE KEY----- begins it, and -----END PRIVATE KEY----- ends";
    assert!(secrets.redact(talk).contains(" begins it, and "));
}

#[test]
fn what_only_looks_a_little_like_a_key_stays() {
    let secrets = secrets();
    for text in [
        "task-implement-the-parser-of-version-2-thoroughly",
        "commit 0443eb7c0f1d8a2b3c4d5e6f708192a3b4c5d6e7",
        "550e8400-e29b-41d4-a716-446655440000",
        "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "Bearer authentication is not the Bearer token-authentication-scheme-of-mine",
        "https://h.org:8080/@scope/name and http://[::1]:80/a@b",
        "sk-loading-indicator-of-the-page-two-2",
        "AKIA is a prefix, AKIAIOSFODNN7example is not, nor xAKIAIOSFODNN7EXAMPLE",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "std::task::Poll -> ://",
        "integrity sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==",
        "checksum = \"0443eb7c0f1d8a2b3c4d5e6f708192a3b4c5d6e70443eb7c0f1d8a2b3c4d5e6f\"",
        "data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbImEuanMiXX0=",
        "eyJ.parse.this-is-no-token-at-all and eyJhbGciOiJIUzI1NiJ9.config.production1",
        "Basic authentication, basic_auth and Basic HTTP/1.1",
        "primary-key-0443eb7c0f1d8a2b3c4d5e6f708192a3 and monkey-0443eb7c0f1d8a2b3c4d5e6f708192a3",
        "pypi-publish-of-the-package-with-a-very-long-name-and-more-words",
        "sk_test_helpers_of_the_checkout_page_2",
        "hf_hub_download, npm_config_registry, glrt-notes, SG.eu.example.com, r8_value",
        "&amp;&lt;&#65; \\u0041 \\/ \\b \u{1b}[31mred\u{1b}[0m caf\u{e9}\u{ad}s \u{200b} a\r\nb",
    ] {
        assert!(matches!(secrets.redact(text), Cow::Borrowed(_)), "{}", secrets.redact(text));
    }
}

#[test]
fn prompts_keep_what_only_looks_like_a_key() {
    let text = format!("{VALUE} and ghp_abcdefghijklmnopqrstuvwxyz0123456789");
    let expected = "[redacted] and ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    assert_eq!(secrets().redact_exact(&text), expected);
}

#[test]
fn secrets_are_recognized_by_the_names_of_variables() {
    for (name, value, is) in [
        ("ANTHROPIC_API_KEY", "x", true),
        ("ANTHROPIC_AUTH_TOKEN", "x", true),
        ("AWS_SECRET_ACCESS_KEY", "/x", true),
        ("GH_TOKEN", "x", true),
        ("npm_config_//registry.npmjs.org/:_authToken", "x", true),
        ("PGPASSWORD", "x", true),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/ada/key.json", false),
        ("GOOGLE_CREDENTIALS", "{}", true),
        ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "32000", false),
        ("FEATURE_TOKEN", "disabled", false),
        ("AWS_ACCESS_KEY_ID", "x", false),
        ("SSH_AUTH_SOCK", "/tmp/x", false),
        ("PATH", "x", false),
        ("MYSQL_PWD", "x", true),
        ("PWD", "x", false),
        ("OLDPWD", "x", false),
        ("BUILD_PWD", "/home/ada", false),
        ("SECRET_KEY_BASE", "x", true),
        ("DATABASE_URL", "postgres://ada:hunter22@h/db", true),
        ("DATABASE_URL", "postgres://h/db", false),
        ("HTTPS_PROXY", "http://ada:hunter22@proxy:80", true),
        ("KEYBOARD", "x", false),
    ] {
        assert_eq!(is_secret_name(name, value.as_bytes()), is, "{name}={value}");
    }
}

#[test]
fn the_mark_tears_no_escape_apart() {
    let secrets = Secrets::new(["nextSecret-1", "00e9secret-2", "\\secret-3-x"]);
    for line in [
        r#"{"a":"x\nextSecret-1"}"#,
        r#"{"a":"x\\nextSecret-1"}"#,
        r#"{"a":"x\u00e9secret-2"}"#,
        r#"{"a":"\\secret-3-x\\\\secret-3-x"}"#,
    ] {
        for cut in 0..line.len() {
            let (a, b) = line.as_bytes().split_at(cut);
            let out = in_pieces(&secrets, StreamKind::Json, &[a, b]);
            let read: Result<serde_json::Value, _> = serde_json::from_slice(&out);
            assert!(read.is_ok(), "{}", String::from_utf8_lossy(&out));
            assert!(out.windows(MARK.len()).any(|part| part == MARK.as_bytes()));
        }
    }
}

#[test]
fn nothing_is_held_back_that_cannot_become_a_secret() {
    let (secrets, mut out) = (secrets(), vec![]);
    let mut stream = secrets.stream(StreamKind::Json);
    stream.feed(b"{\"type\":\"x\"}\n", &mut out);
    assert_eq!(stream.held(), 0);
    stream.feed(b"abc hunter2-H", &mut out);
    assert_eq!(stream.held(), 9);
    stream.skip();
    stream.feed(b"\nnext", &mut out);
    stream.finish(&mut out);
    assert_eq!(out, b"{\"type\":\"x\"}\nabc \nnext");
}

/// A token of this shape, and one that is a byte too short; none for shapes that are not tokens.
fn examples(shape: &Shape, prefix: &[u8]) -> Option<(String, String)> {
    let (How::Token(length, needs) | How::Behind(length, needs)) = shape.how else {
        return None;
    };
    let count = match length {
        Length::Exactly(count) | Length::AtLeast(count) => count,
    };
    let class = shape.class?;
    let capitals = matches!(needs, Needs::Capitals);
    let letters = (0..).map(|at: usize| b"7aB3dE1fC9b0"[at * 7 % 12]);
    let letters = letters.filter(|byte| !capitals || !byte.is_ascii_lowercase());
    let body = |count: usize| -> String {
        let text: String = letters.clone().take(count).map(char::from).collect();
        match needs {
            Needs::Jwt => format!("hbGciOiJ9.eyJzdWIifQ.{}", &text[..count - 20]),
            Needs::SendGrid => format!("{}.{}", &text[..22], &text[23..]),
            _ => text,
        }
    };
    assert!(body(count).bytes().all(class));
    let prefix = str::from_utf8(prefix).ok()?;
    Some((format!("{prefix}{}", body(count)), format!("{prefix}{}", body(count - 1))))
}

/// What stays of a token.
fn kept<'p>(shape: &Shape, prefix: &'p [u8]) -> &'p str {
    match shape.how {
        How::Behind(..) => str::from_utf8(prefix).unwrap_or_default(),
        _ => "",
    }
}

#[test]
fn every_shape_is_found_and_nothing_shorter() {
    let secrets = Secrets::default();
    let prefixes = |shape: &'static Shape| shape.prefixes().map(move |prefix| (prefix, shape));
    for (prefix, shape) in SHAPES.iter().flat_map(prefixes) {
        let Some((token, short)) = examples(shape, prefix) else { continue };
        for (before, after) in [("", ""), ("k=", "\n"), ("\"", "\""), ("x\u{1b}[1m", "\u{1b}[0m y")]
        {
            let text = format!("{before}{token}{after}");
            let expected = format!("{before}{}{MARK}{after}", kept(shape, prefix));
            assert_eq!(secrets.redact(&text), expected, "{text}");
        }
        assert_eq!(secrets.redact(&short), short);
    }
}

#[test]
fn a_value_is_found_however_it_is_spelled() {
    let secrets = Secrets::new(["k\u{e9}y/of+<ada>&'co'\"17 b"]);
    for text in [
        r#"k\u00e9y\/of+<ada>&'co'\"17 b"#,
        r#"k\u00e9y\/of+\u003cada\u003e\u0026\u0027co\u0027\"17 b"#,
        r#"k\\u00e9y\\/of+<ada>&'co'\\\"17 b"#,
        "k\u{e9}y/of+&lt;ada&gt;&amp;&#39;co&#x27;&quot;17 b",
        "6bc3a9792f6f662b3c6164613e2627636f2722313720 62".replace(' ', "").as_str(),
        "6BC3A9792F6F662B3C6164613E2627636F272231372062",
        "k%C3%A9y%2Fof%2B%3Cada%3E%26%27co%27%2217+b",
        "k\u{e9}y/of\n    +<ada>&'co'\"17 b",
        "k\u{e9}y\\n/of+<ada>&'c\\no'\"17 b",
    ] {
        assert_eq!(secrets.redact(&format!("({text})")), "([redacted])", "{text}");
    }
    // A line break near the beginning leaves that beginning.
    assert_eq!(secrets.redact("k\u{e9}\ny/of+<ada>&'co'\"17 b."), "k\u{e9}\n[redacted].");
}

#[test]
fn the_password_of_an_address_is_a_secret_of_its_own() {
    let address = "postgres://ada:Hunter2-2@db.example/main";
    assert!(is_secret_name("DATABASE_URL", address.as_bytes()));
    let secrets = Secrets::new([address]);
    assert_eq!(secrets.redact("login failed: Hunter2-2"), "login failed: [redacted]");
    assert_eq!(secrets.redact(&format!("to {address}")), "to [redacted]");
}

#[test]
fn colors_stay_and_the_secret_between_them_goes() {
    let key = "ghp_abcdefghijkl\u{1b}[1;32mmnopqrstuvwxyz0123456789";
    assert_eq!(
        secrets().redact(&format!("\u{1b}[31m{key}\u{1b}[0m and AKIAIOSFODNN7EXAMPLE\u{1b}[0mx")),
        "\u{1b}[31m[redacted]\u{1b}[1;32m\u{1b}[0m and [redacted]\u{1b}[0mx"
    );
    // Without its colors, an escape sequence may hold one as well.
    let link = "\u{1b}]8;;https://ada:pass1@h.org/\u{1b}\\click\u{1b}]8;;\u{1b}\\";
    assert_eq!(
        secrets().redact(link),
        "\u{1b}]8;;https://[redacted]@h.org/\u{1b}\\click\u{1b}]8;;\u{1b}\\"
    );
    // Too long to be held back in a stream; a text is looked at again as it is shown.
    let long = format!("zebra-\u{1b}]0;{}\u{7}zebra-1234", "x".repeat(9000));
    assert_eq!(secrets().redact(&long), MARK);
}

#[test]
fn megabytes_of_nothing_are_not_held_back() {
    let (secrets, mut out) = (secrets(), vec![]);
    let mut stream = secrets.stream(StreamKind::Text);
    stream.feed(b"z", &mut out);
    for _ in 0..300 {
        stream.feed(&[0; 1024], &mut out);
        assert!(stream.held() <= MOST_HELD);
    }
    stream.finish(&mut out);
    assert_eq!(out.len(), 300 * 1024 + 1);
}

/// Marks that nobody sees.
fn invisible() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "\u{1b}[0m",
            "\u{1b}[38;5;12m",
            "\u{1b}(B",
            "\u{9b}1m",
            "\u{1b}]0;title\u{7}",
            "\u{1b}]8;;http://a\u{1b}\\",
            "\u{200b}",
            "\u{200d}",
            "\u{ad}",
            "\u{202e}",
            "\u{2066}",
            "\u{feff}",
            "\u{8}",
            "\r",
            "\0",
            "\u{7f}",
            "\u{34f}",
            "\u{e0041}",
            "\u{2060}",
            "\u{180e}",
        ])
        .prop_map(str::to_owned),
    ]
}

/// Pieces of text that are, contain or resemble secrets.
fn part() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        VALUE,
        "zebra-zebra-1234",
        "zebra-zebra-",
        "hunter2-",
        "sk-",
        "sk-ant-api03-AbCdEf123456789012345678901234567890",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "AKIAIOSFODNN7EXAMPLE",
        "Bearer ",
        "abcdef0123456789abcdef",
        "://",
        "ada:pass@",
        PEM,
        "-----BEGIN ",
        "PRIVATE KEY-----",
        "-----END",
        "\n",
        "\\n",
        "\\",
        "\"",
        "…",
        " ",
        "@",
        ":",
        "x",
        "\u{1b}[0m",
        "\u{1b}]0;",
        "\u{7}",
        "\u{200b}",
        "\\u001b[1m",
        "\\u200b",
        "\\u0073",
        "\\/",
        "&amp;",
        "&#x73;",
        "\n  ",
        "zebra-",
        "1234",
        "\r",
    ];
    prop_oneof![
        4 => prop::sample::select(words.to_vec()).prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(part(), 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    /// Whatever is inserted: the secret is not there when the text is shown, nor when JSON is read.
    #[test]
    fn invisible_marks_hide_no_secret(
        secret in "[!-~]{8,40}",
        marks in prop::collection::vec((0usize..60, invisible()), 1..8),
        token in any::<bool>(),
    ) {
        let secret = if token { "ghp_abcdefghijklmnopqrstuvwxyz0123456789".to_owned() } else { secret };
        let secrets = Secrets::new([if token { "" } else { &secret }]);
        let mut text = secret.clone();
        for (at, mark) in &marks {
            let boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let at = boundaries[at % boundaries.len()];
            // Not into another sequence, which would not be one any more.
            if text.is_char_boundary(at) && !text[..at].contains('\u{1b}') && !text[..at].contains('\u{9b}') {
                text.insert_str(at, mark);
            }
        }
        let visible = printable(&text).into_owned();
        prop_assume!(visible.contains(&secret));
        let text = format!("({text})");
        let clean = secrets.redact(&text).into_owned();
        prop_assert!(!printable(&clean).contains(&secret), "{:?}", clean);
        let stream = whole(&secrets, StreamKind::Text, text.as_bytes());
        let stream = String::from_utf8(stream).unwrap();
        prop_assert!(!printable(&stream).contains(&secret), "{:?}", stream);
        let line = serde_json::json!({ "text": text }).to_string();
        let line = whole(&secrets, StreamKind::Json, line.as_bytes());
        let read: serde_json::Value = serde_json::from_slice(&line).unwrap();
        let read = printable(read["text"].as_str().unwrap()).into_owned();
        prop_assert!(!read.contains(&secret), "{}", String::from_utf8_lossy(&line));
    }

    #[test]
    fn pieces_do_not_matter(
        bytes in bytes(),
        cuts in prop::collection::vec(0usize..400, 0..12),
        json in any::<bool>(),
    ) {
        let (secrets, kind) = (secrets(), if json { StreamKind::Json } else { StreamKind::Text });
        let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|two| &bytes[two[0]..two[1]]).collect();
        let out = in_pieces(&secrets, kind, &pieces);
        prop_assert_eq!(&out, &whole(&secrets, kind, &bytes));
        for secret in [VALUE, "zebra-zebra-1234"] {
            prop_assert!(!out.windows(secret.len()).any(|part| part == secret.as_bytes()));
        }
    }

    #[test]
    fn text_without_secrets_is_not_changed(text in "[a-zA-Z0-9 .,/\\\\\"\n{}\\[\\]=+_-]{0,400}") {
        // What has neither a value nor a beginning of a shape in it.
        let beginnings = SHAPES.iter().flat_map(Shape::prefixes).chain([&b"hunter"[..], b"zebra"]);
        let mut none = beginnings.map(|part| !text.contains(str::from_utf8(part).unwrap()));
        prop_assume!(none.all(|none| none));
        prop_assert!(matches!(secrets().redact(&text), Cow::Borrowed(_)));
    }

    #[test]
    fn lines_of_json_stay_json(texts in prop::collection::vec(bytes(), 0..4)) {
        let texts: Vec<String> =
            texts.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect();
        let line = serde_json::json!({ "a": texts, "b": { "c": 1 } }).to_string();
        let out = whole(&secrets(), StreamKind::Json, line.as_bytes());
        let read: Result<serde_json::Value, _> = serde_json::from_slice(&out);
        prop_assert!(read.is_ok(), "{}", String::from_utf8_lossy(&out));
    }
}
