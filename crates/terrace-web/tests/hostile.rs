//! Documents that try to run scripts, to load or send something, to break out of their place, or to take long.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests may panic; that is how they fail"
)]

use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::json;
use terrace_core::api::details::{Navigation, VersionDetails};
use terrace_core::documentation::{DocumentPath, DocumentationKind};
use terrace_core::model::package::Package;
use terrace_fuzz_targets::assert_allowed;
use terrace_web::limits;
use terrace_web::markdown::{Links, NoLinks, Rendered, TargetKind, render};
use terrace_web::pages::Release;
use terrace_web::rendering;

const HOSTILE: &str = include_str!("fixtures/hostile.txt");

/// The places in which each document is tried.
const PLACES: [(&str, &str); 12] = [
    ("", ""),
    ("text ", " text\n\nmore"),
    ("- ", "\n"),
    ("> ", "\n"),
    ("# ", "\n"),
    ("**", "**"),
    ("[", "](https://a.example)"),
    ("![", "](https://a.example/x.png)"),
    ("| a |\n|--|\n| ", " |\n"),
    ("<details><summary>", "</summary>x</details>"),
    ("<table><tr><td>\n\n", "\n\n</td></tr></table>"),
    (
        "<p align=center><b><a href=\"https://a.example\">\n",
        "</a></b></p>",
    ),
];

/// Resolves every target to itself, as a careless caller would.
struct Careless;

impl Links for Careless {
    fn resolve(&self, target: &str, _kind: TargetKind) -> Option<String> {
        Some(target.to_owned())
    }
}

fn html(text: &str) -> String {
    render(text, &NoLinks).html
}

/// Returns the documents of the fixture.
fn documents() -> Vec<String> {
    let documents: Vec<String> = HOSTILE.split("\n%\n").skip(1).map(unescaped).collect();
    assert!(documents.len() > 250, "{}", documents.len());
    documents
}

fn unescaped(text: &str) -> String {
    let mut parts = text.split("{{");
    let mut output = parts.next().unwrap().to_owned();
    for part in parts {
        let (number, rest) = part.split_once("}}").unwrap();
        output.push(char::from_u32(u32::from_str_radix(number, 16).unwrap()).unwrap());
        output.push_str(rest);
    }
    output
}

#[test]
fn a_hostile_document_becomes_allowed_html_in_every_place() {
    for document in documents() {
        for (before, after) in PLACES {
            let text = format!("{before}{document}{after}");
            assert_allowed(&render(&text, &NoLinks).html);
            assert_allowed(&render(&text, &Careless).html);
        }
    }
}

#[test]
fn hostile_documents_do_not_act_across_each_other() {
    let documents = documents();
    for pair in documents.windows(2) {
        assert_allowed(&html(&pair.join("\n\n")));
        assert_allowed(&html(&pair.join("")));
    }
    assert_allowed(&html(&documents.join("\n\n")));
}

#[test]
fn the_checks_reject_hostile_html() {
    for bad in [
        "<script></script>",
        "<p onclick=\"x\"></p>",
        "<p style=\"x\"></p>",
        "<a href=\"javascript:x\"></a>",
        "<a href=\"java\tscript:x\"></a>",
        "<a href=\"//a\"></a>",
        "<a href=\"https://a\"></a>",
        "<img src=\"data:x\">",
        "<img src=\"//a\">",
        "<div><p></div>",
        "<p><div></div></p>",
        "<p id=\"a\"></p><p id=\"a\"></p>",
        "<p id=\"page-a\"></p>",
        "<p class=\"x\"></p>",
        "<!-- x -->",
        "</div>",
        "<table>x</table>",
        "\u{202e}",
    ] {
        let verdict = std::panic::catch_unwind(|| assert_allowed(bad));
        assert!(verdict.is_err(), "{bad} was accepted");
    }
}

/// Pathological documents of about `size` bytes.
fn pathological(size: usize) -> Vec<(String, String)> {
    let units = [
        "[",
        "![",
        "*",
        "**a",
        "_",
        "~",
        "~~",
        "`",
        "`a``",
        ">",
        "> ",
        "- ",
        "1. ",
        "<",
        "<a",
        "<!--",
        "<b>",
        "</b>",
        "<b></b>",
        "<details>",
        "<table>",
        "<ul>",
        "<li>",
        "<a href=\"",
        "<a b='",
        "&",
        "&a;",
        "&copy;",
        "|",
        "|\n|-",
        "a|",
        "[a](",
        "![a](",
        "[^1]",
        "[^1]: ",
        "\\",
        "http://",
        "https://a.b/(",
        "https://a.b/) ",
        "# a\n",
        "#\n",
        "a\n=\n",
        "-> \n\n",
        "-> a\n\n",
        "* `a`\n",
        "\u{202e}",
        "\0",
        "]()",
        "[](x)",
        "```hcl\n1\n```\n",
        "<p align=center>",
        "<img src=https://a>",
        "\r",
        "$$",
        "<!",
        "<?",
        "<![CDATA[",
        "[x]: y\n",
        "[x]",
        "\t",
        "<h1>",
        "<pre>\n",
        "</pre>",
        "<summary>",
        "<td>",
        "**<b>",
        "*a _b ",
        "a**b",
        "[a][",
        "\n\n",
        "  \n",
        "é",
    ];
    let mut documents: Vec<(String, String)> = units
        .into_iter()
        .map(|unit| (unit.to_string(), unit.repeat(size / unit.len())))
        .collect();
    let nested = |start: &str, end: &str| {
        let count = size / (start.len() + end.len());
        (
            format!("{start}…{end}"),
            format!("{}a{}", start.repeat(count), end.repeat(count)),
        )
    };
    documents.extend([
        nested("[", "](x)"),
        nested("![", "](x)"),
        nested("**", "**"),
        nested("<b>", "</b>"),
        nested("<div>\n", "</div>\n"),
        nested("(", ")"),
        nested("<p>", "</p>"),
        nested("<ul><li>", "</ul>"),
        nested("[^", "]"),
    ]);
    let staircase = (0..1_000).map(|depth| format!("{}- a\n", "  ".repeat(depth)));
    documents.push(("staircase".to_owned(), joined(staircase, size)));
    let quotes = (0..1_000).map(|depth| format!("{}a\n\n", "> ".repeat(depth)));
    documents.push(("quotes".to_owned(), joined(quotes, size)));
    let columns = size / 4;
    documents.push((
        "wide table".to_owned(),
        format!(
            "{}\n{}\n{}",
            "|a".repeat(columns / 2),
            "|-".repeat(columns / 2),
            "|\n".repeat(columns)
        ),
    ));
    for unit in ["x\na|b\n-|-\n\n", "a|b\n-|-\n", "> x\na|b\n> -|-\n"] {
        let below_text = format!("x\n{}", unit.repeat(size / unit.len()));
        documents.push((format!("tables below text {unit:?}"), below_text));
    }
    let code = |unit: &str| format!("```hcl\n{}", unit.repeat(size / unit.len()));
    for unit in [
        "1 ", "\"${", "a=", "{a ", "<<A\n", "$", "\"$ ", "a \"", "/*", "a      ", "%{", "a::", "<<",
    ] {
        documents.push((format!("code {unit}"), code(unit)));
    }
    let reference = format!("[a]: https://a.example/{}\n\n", "b".repeat(size / 8));
    documents.push((
        "expansion".to_owned(),
        format!("{reference}{}", "[a]".repeat(size / 4)),
    ));
    documents
}

/// Joins parts up to a size.
fn joined(parts: impl Iterator<Item = String>, size: usize) -> String {
    let mut left = size;
    let parts = parts.take_while(|part| {
        let is_short = part.len() <= left;
        left -= part.len().min(left);
        is_short
    });
    parts.collect()
}

#[test]
fn pathological_documents_become_bounded_and_allowed_html() {
    for (name, text) in pathological(4_000) {
        let rendered = render(&text, &NoLinks);
        let bound = text.len() * limits::EXPANSION * 2 + limits::EXPANSION_BASE * 2;
        let bytes = rendered.html.len();
        assert!(bytes <= bound, "{name}: {bytes} bytes");
        assert_allowed(&rendered.html);
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test may measure time")]
fn time_grows_linearly_with_the_document() {
    let time = |text: &str| {
        let start = Instant::now();
        let rendered = render(text, &NoLinks);
        (start.elapsed(), rendered.html.len())
    };
    let size = limits::DOCUMENT_BYTES / 2;
    let small: Vec<(String, String)> = pathological(size / 10);
    for ((name, large), (_, small)) in pathological(size).into_iter().zip(small) {
        let is_linear = || {
            let (slow, bytes) = time(&large);
            let fast = time(&small).0.max(Duration::from_millis(20));
            println!("{name:?}: {slow:?} for {bytes} bytes, {fast:?} for a tenth");
            // Quadratic time would be 100 times as long.
            slow < fast * 40
        };
        // Others may use the machine.
        assert!((0..3).any(|_| is_linear()), "{name:?}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test may measure time")]
fn time_does_not_grow_with_links_times_documents() {
    let small = Documented::new(400);
    let large = Documented::new(4_000);
    let link = "[a](missing_name)\n";
    let time = |documented: &Documented, links: usize| {
        let text = link.repeat(links);
        let start = Instant::now();
        let rendered = documented.rendered(&text);
        assert!(!rendered.is_truncated);
        start.elapsed()
    };
    let is_linear = || {
        let slow = time(&large, 20_000);
        let fast = time(&small, 2_000).max(Duration::from_millis(20));
        println!("{slow:?}, {fast:?} for a tenth of the links and documents");
        // Quadratic time would be 100 times as long.
        slow < fast * 40
    };
    // Others may use the machine.
    assert!((0..3).any(|_| is_linear()));
}

/// A provider with many resources, to which documents may link.
struct Documented {
    package: Package,
    details: VersionDetails,
    navigation: Navigation,
}

impl Documented {
    fn new(documents: usize) -> Self {
        let names = (0..documents).map(|at| format!("same_{at:07}"));
        let documents: Vec<_> = names
            .map(|name| json!({ "kind": "resources", "name": name, "path": "", "size": 1 }))
            .collect();
        let of =
            json!({ "kind": "provider", "address": "acme/widget", "path": "", "version": "1.0.0" });
        let (mut details, mut navigation) = (of.clone(), of);
        details["is_documented"] = json!(true);
        details["latest"] = json!("1.0.0");
        details["platforms"] = json!([]);
        details["protocols"] = json!(["5.0"]);
        navigation["documents"] = json!(documents);
        navigation["symbols"] = json!([]);
        Self {
            package: Package::parse_key("providers/hosted/acme/widget").unwrap(),
            details: serde_json::from_value(details).unwrap(),
            navigation: serde_json::from_value(navigation).unwrap(),
        }
    }

    fn rendered(&self, text: &str) -> Rendered {
        let release = Release {
            package: &self.package,
            details: &self.details,
            versions: &[],
        };
        let name = "same_0000000".parse().unwrap();
        let path = DocumentPath::of_page(DocumentationKind::Resource, &name);
        rendering::document(&release, &self.navigation, &path, text)
    }
}

#[test]
fn a_longer_document_is_cut() {
    let long = "é".repeat(limits::DOCUMENT_BYTES);
    let rendered = render(&long, &NoLinks);
    assert!(rendered.is_truncated);
    assert!(rendered.html.len() <= limits::DOCUMENT_BYTES + 20);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("TERRACE_CASES").is_some() { 2_000 } else { 200 }))]

    #[test]
    fn parts_of_hostile_documents_become_allowed_html(parts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1_usize..30), 1..6)) {
        let documents = documents();
        let mut text = String::new();
        for (document, start, length) in parts {
            let chars: Vec<char> = document.get(&documents).chars().collect();
            let start = start.index(chars.len());
            text.extend(chars.iter().skip(start).take(length));
        }
        assert_allowed(&html(&text));
    }

    #[test]
    fn any_mixture_of_tags_becomes_allowed_html(text in r#"(</?(a|b|p|pre|div|details|summary|ul|ol|li|table|caption|thead|tbody|tfoot|tr|td|th|h1|h2|code|img|br|hr|blockquote)( href="https://a\.b"| id=x| align=center| open)?>|\n|\n\n|x|- |> |\*|\*\*|~~|`|\| |\|--\|\n|# |-> |```\n|    ){0,40}"#) {
        assert_allowed(&html(&text));
    }
}
