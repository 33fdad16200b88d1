//! The HTML of each construct. `tests/hostile.rs` checks what must never be in it.

use super::*;

/// Resolves relative references below `/own/`.
struct Own;

impl Links for Own {
    fn resolve(&self, target: &str, kind: TargetKind) -> Option<String> {
        (kind == TargetKind::Link && !target.contains(':')).then(|| format!("/own/{target}"))
    }
}

#[track_caller]
fn shows(source: &str, html: &str) {
    assert_eq!(render(source, &Own).html.trim_end(), html, "{source}");
}

#[test]
fn headings_are_shifted_and_listed() {
    let source = "# A\n\n## B *c* `d`\n\n###### E\n\n## A\n\n<h2 align=\"center\">F</h2>\n";
    let rendered = render(source, &Own);
    assert_eq!(
        rendered.html,
        "<h2 id=\"a\">A</h2>\n<h3 id=\"b-c-d\">B <em>c</em> <code>d</code></h3>\n<h6 id=\"e\">E</h6>\n\
         <h3 id=\"a-1\">A</h3>\n<h3 id=\"f\">F</h3>\n\n"
    );
    let contents: Vec<_> = rendered
        .contents
        .iter()
        .map(|heading| (heading.level, heading.id.as_str(), heading.text.as_str()))
        .collect();
    assert_eq!(
        contents,
        [
            (2, "a", "A"),
            (3, "b-c-d", "B c d"),
            (6, "e", "E"),
            (3, "a-1", "A"),
            (3, "f", "F")
        ]
    );
}

#[test]
fn links_to_other_sites_are_marked() {
    shows(
        "[a](https://a.example \"T\") <b@c.example> [c](d.md)",
        "<p><a href=\"https://a.example\" rel=\"nofollow noopener\" title=\"T\">a</a> \
         <a href=\"mailto:b@c.example\" rel=\"nofollow noopener\">b@c.example</a> <a href=\"/own/d.md\">c</a></p>",
    );
    shows(
        "see https://a.example/b_c_d.",
        "<p>see <a href=\"https://a.example/b_c_d\" rel=\"nofollow noopener\">https://a.example/b_c_d</a>.</p>",
    );
    shows(
        "`https://a.example`",
        "<p><code>https://a.example</code></p>",
    );
}

#[test]
fn links_that_lead_nowhere_are_text() {
    shows("[a](javascript:alert(1)) b", "<p>a b</p>");
    assert_eq!(render("[a](b.md)", &NoLinks).html, "<p>a</p>\n");
}

#[test]
fn a_regular_expression_in_the_form_of_a_link_is_shown_as_written() {
    assert_eq!(
        render("must match [a-z]([-a-z0-9]*[a-z0-9])?.", &NoLinks).html,
        "<p>must match [a-z]([-a-z0-9]*[a-z0-9])?.</p>\n"
    );
}

#[test]
fn links_within_the_document_lead_to_its_ids() {
    shows(
        "[a](#b) [c](#page-d)",
        "<p><a href=\"#b\">a</a> <a href=\"#doc-page-d\">c</a></p>",
    );
    shows(
        "<a name=\"input_a\"></a> [a](#input\\_a)",
        "<p><span id=\"input_a\"></span> <a href=\"#input_a\">a</a></p>",
    );
}

#[test]
fn arguments_have_ids_unless_headings_have_them() {
    shows(
        "* `ami` - a\n* `timeouts` - b\n  * `ami`\n* text `c`\n* [`d`](#d)\n\n## Timeouts",
        "<ul><li id=\"ami\"><code>ami</code> - a</li>\n<li><code>timeouts</code> - b<ul><li><code>ami</code></li>\n</ul>\n</li>\n\
         <li>text <code>c</code></li>\n<li id=\"d\"><a href=\"#d\"><code>d</code></a></li>\n</ul>\n<h3 id=\"timeouts\">Timeouts</h3>",
    );
}

#[test]
fn images_are_links_to_images() {
    shows(
        "![a](https://a.example/b.png) and ![](https://a.example/c.png?d) ![e](f.png)",
        "<p><a class=\"image\" href=\"https://a.example/b.png\" rel=\"nofollow noopener\">a</a> and \
         <a class=\"image\" href=\"https://a.example/c.png?d\" rel=\"nofollow noopener\">c.png</a> <span class=\"image\">e</span></p>",
    );
    shows(
        "x\n\n[![a](https://a.example/b.png)](https://c.example)\n[![d](https://a.example/e.png)](f)",
        "<p>x</p>\n<p class=\"images\"><a href=\"https://c.example\" rel=\"nofollow noopener\"><span class=\"image\">a</span></a>\n\
         <a href=\"/own/f\"><span class=\"image\">d</span></a></p>",
    );
}

#[test]
fn images_of_the_package_are_shown() {
    struct Packed;
    impl Links for Packed {
        fn resolve(&self, target: &str, _: TargetKind) -> Option<String> {
            Some(format!("/files/{target}"))
        }
    }
    assert_eq!(
        render("![A \"b\"](a.png)", &Packed).html,
        "<p class=\"images\"><img src=\"/files/a.png\" alt=\"A &quot;b&quot;\" loading=\"lazy\"></p>\n"
    );
}

#[test]
fn callouts_have_a_title() {
    for (mark, class, title) in [
        ("->", "note", "Note"),
        ("~>", "warning", "Warning"),
        ("!>", "caution", "Caution"),
    ] {
        shows(
            &format!("{mark} a\nb"),
            &format!(
                "<div class=\"callout {class}\" role=\"note\"><p class=\"title\">{title}</p>\n<p>a\nb</p>\n</div>"
            ),
        );
        shows(
            &format!("{mark} **Hint:** a"),
            &format!(
                "<div class=\"callout {class}\" role=\"note\"><p><strong>Hint:</strong> a</p>\n</div>"
            ),
        );
    }
    shows(
        "> [!TIP]\n> a",
        "<div class=\"callout tip\" role=\"note\"><p class=\"title\">Tip</p>\n<p>a</p>\n</div>",
    );
}

#[test]
fn a_single_tilde_is_text() {
    shows(
        "a (~> 1.0, ~> 2.0) ~~b~~",
        "<p>a (~&gt; 1.0, ~&gt; 2.0) <del>b</del></p>",
    );
    shows(
        "~> a (~> 1.0)",
        "<div class=\"callout warning\" role=\"note\"><p class=\"title\">Warning</p>\n<p>a (~&gt; 1.0)</p>\n</div>",
    );
}

#[test]
fn tables_scroll_and_align() {
    shows(
        "| a | |\n|:-:|--:|\n| b | c |",
        "<div class=\"table\" tabindex=\"0\"><table><thead><tr><th class=\"center\">a</th>\n<td></td>\n</tr>\n</thead>\n\
         <tbody><tr><td class=\"center\">b</td>\n<td class=\"right\">c</td>\n</tr>\n</tbody>\n</table></div>",
    );
}

#[test]
fn a_table_may_follow_a_line_of_text() {
    const TABLE: &str = "<div class=\"table\" tabindex=\"0\"><table><thead><tr><th>a</th>\n<th>b</th>\n</tr>\n</thead>\n\
                         <tbody><tr><td>c</td>\n<td>d</td>\n</tr>\n</tbody>\n</table></div>";
    shows("x:\na | b\n-- | --\nc | d", &format!("<p>x:</p>\n{TABLE}"));
    shows(
        "* x:\n  |a|b|\n  |:-|-|\n  |c|d|",
        &format!("<ul><li>x:{TABLE}\n</li>\n</ul>"),
    );
    shows(
        "> x:  \n> a | b\n> -- | --\n> c | d",
        &format!("<blockquote><p>x:</p>\n{TABLE}\n</blockquote>"),
    );
    shows(
        "~> x:\na | b\n-- | --\nc | d",
        &format!(
            "<div class=\"callout warning\" role=\"note\"><p class=\"title\">Warning</p>\n<p>x:</p>\n</div>\n{TABLE}"
        ),
    );
}

#[test]
fn text_that_only_resembles_a_table_stays_text() {
    shows("x\na | b | c\n-- | --", "<p>x\na | b | c\n-- | --</p>");
    shows("x\na \\| b\n-- | --", "<p>x\na | b\n-- | --</p>");
    shows(
        "```\nx\na | b\n-- | --\n```",
        "<pre tabindex=\"0\"><code>x\na | b\n-- | --\n</code></pre>",
    );
    shows(
        "```\nx\na | b\n-- | --\n```\n\ny\n|a|\n|-|\n|-|",
        "<pre tabindex=\"0\"><code>x\na | b\n-- | --\n</code></pre>\n<p>y</p>\n<div class=\"table\" tabindex=\"0\"><table>\
         <thead><tr><th>a</th>\n</tr>\n</thead>\n<tbody><tr><td>-</td>\n</tr>\n</tbody>\n</table></div>",
    );
}

#[test]
fn lists_have_numbers_and_tasks() {
    shows(
        "3. a\n4. b",
        "<ol start=\"3\"><li>a</li>\n<li>b</li>\n</ol>",
    );
    shows("- [x] a\n- [ ] b", "<ul><li>☑ a</li>\n<li>☐ b</li>\n</ul>");
}

#[test]
fn footnotes_are_linked_in_both_directions() {
    shows(
        "a[^x] b[^x]\n\n[^x]: c",
        "<p>a<sup><a href=\"#fn-1\" id=\"fn-1-back\">1</a></sup> b<sup><a href=\"#fn-1\">1</a></sup></p>\n\
         <div class=\"footnote\" id=\"fn-1\"><sup><a href=\"#fn-1-back\">1</a></sup><p>c</p>\n</div>",
    );
}

#[test]
fn code_keeps_its_language_and_terraform_is_highlighted() {
    shows(
        "```json title=x\n{}<\n```",
        "<pre tabindex=\"0\"><code class=\"language-json\">{}&lt;\n</code></pre>",
    );
    shows(
        "```c++\nx\n```",
        "<pre tabindex=\"0\"><code>x\n</code></pre>",
    );
    shows(
        "```terraform\na = 1\n```",
        "<pre tabindex=\"0\"><code class=\"language-terraform\"><span class=\"a\">a</span> = <span class=\"n\">1</span>\n</code></pre>",
    );
}

#[test]
fn harmless_html_is_kept() {
    shows(
        "a<br/>b <kbd>c</kbd> <sub>d</sub> <B>e</B> H<sub>2</sub>O",
        "<p>a<br>b <kbd>c</kbd> <sub>d</sub> <strong>e</strong> H<sub>2</sub>O</p>",
    );
    shows(
        "<details>\n<summary>a</summary>\n\n* b\n\n</details>\n",
        "<details>\n<summary>a</summary>\n\n<ul><li>b</li>\n</ul>\n</details>",
    );
    shows(
        "<p align=\"center\">\n<b>a</b> &copy;\n</p>",
        "<p class=\"center\">\n<strong>a</strong> ©\n</p>",
    );
    shows(
        "| a |\n|--|\n| <pre>b<br/>  c</pre> |",
        "<div class=\"table\" tabindex=\"0\"><table><thead><tr><th>a</th>\n</tr>\n</thead>\n\
         <tbody><tr><td><pre tabindex=\"0\">b<br>  c</pre>\n</td>\n</tr>\n</tbody>\n</table></div>",
    );
}

#[test]
fn other_html_is_text_and_comments_disappear() {
    shows(
        "use <name> or <your-id>",
        "<p>use &lt;name&gt; or &lt;your-id&gt;</p>",
    );
    shows("<script>alert(1)</script>", "&lt;script&gt;alert(1)");
    shows("a</detalis> b </name>", "<p>a b </p>");
    shows("a<!-- b -->c", "<p>ac</p>");
    shows(
        "<b onclick=\"x\" style=\"y\">a</b>",
        "<p><strong>a</strong></p>",
    );
}

#[test]
fn what_is_left_open_is_closed() {
    shows(
        "<details>\n\na <b>c\n\nd",
        "<details>\n<p>a <strong>c</strong></p>\n<p>d</p>\n</details>",
    );
    shows(
        "- <div>\n- a",
        "<ul><li><div>\n</div>\n</li>\n<li>a</li>\n</ul>",
    );
}

#[test]
fn deep_containers_lose_their_tags_and_keep_their_text() {
    let html = render(&format!("{}a", "> ".repeat(100)), &Own).html;
    assert_eq!(
        html.matches("<blockquote>").count(),
        limits::NESTING - limits::NESTING_RESERVE
    );
    assert!(html.contains("<p>a</p>"));
}

#[test]
fn badges_are_left_out_and_other_images_stay() {
    const BADGE: &str = "[![Latest](https://img.shields.io/x.svg)](https://a.example)";
    const BANNER: &str = "[![Acme](https://a.example/logo.png)](https://a.example)";
    const IMAGE: &str = "![Diagram](https://a.example/diagram.png)";
    shows(
        &format!("# A {BADGE} ![build](https://a.example/badge)"),
        "<h2 id=\"a\">A  </h2>",
    );
    shows(&format!("{BADGE}\n{BANNER}"), "");
    for text in [
        format!("see {BADGE}"),
        IMAGE.to_owned(),
        format!("text\n\n{BANNER}"),
    ] {
        let html = render(&text, &Own).html;
        assert!(html.contains("<a "), "{text}: {html}");
    }
}

proptest::proptest! {
    #[test]
    fn a_line_without_the_parser_is_what_the_parser_makes_of_it(text in "(a|b1|`|_|c_d|http://e|[ ():/.&<~*|-]){1,12}") {
        if let Some(html) = line(text.trim()) {
            proptest::prop_assert_eq!(html, blocks(&text));
        }
    }
}

#[test]
fn a_line_with_code_needs_no_parser() {
    let html = line("(Optional) The `<name>` of `a_b`: a key");
    let expected = "<p>(Optional) The <code>&lt;name&gt;</code> of <code>a_b</code>: a key</p>\n";
    assert_eq!(html.as_deref(), Some(expected));
}
