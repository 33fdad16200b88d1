//! The pages of modules: their texts and their links.

use serde_json::json;
use terrace_core::documentation::DocumentPath;
use terrace_web::pages::{ExampleFile, Release, module, module_part};
use terrace_web::{Site, rendering};

use crate::fixtures;
use crate::html::Html;
use crate::pages::{self, VPC, module_with};

/// Calls `test` with a version of acme/vpc/aws that has a submodule and an example.
fn with_release<T>(test: impl FnOnce(&Release<'_>) -> T) -> T {
    let package = fixtures::package(VPC);
    let versions = fixtures::versions(&["5.2.0"]);
    let view =
        json!({ "root": {}, "submodules": [{ "name": "a" }], "examples": [{ "name": "simple" }] });
    let view = Some(fixtures::parsed(view));
    test(&Release {
        package: &package,
        details: &fixtures::module::version_details(&package, &versions[0], "5.2.0", view),
        versions: &versions,
    })
}

/// Returns the targets of the links of a page whose text is `text`.
fn links(page: &Html, text: &str) -> Vec<String> {
    let links = page.named("a").filter(|it| it.text == text);
    links.map(|it| it.attribute("href").to_owned()).collect()
}

#[test]
fn resources_providers_and_calls_lead_to_their_pages() {
    let page = module_with(json!({
            "providers": [{ "name": "aws", "source": "hashicorp/aws" },
                { "name": "widget", "source": "registry.example.com/acme/widget" },
                { "name": "gear", "source": "registry.opentofu.org/acme/gear" }],
            "resources": [{ "mode": "managed", "type": "aws_nat_gateway", "name": "a", "provider": "aws" },
                { "mode": "data", "type": "widget_part", "name": "a", "provider": "widget" },
                { "mode": "ephemeral", "type": "random_password", "name": "a", "provider": "random" },
                { "mode": "managed", "type": "terraform_data", "name": "a", "provider": "terraform" }],
            "calls": [{ "name": "a", "source": "./modules/endpoints" },
                { "name": "b", "source": "acme/kms/aws//modules/key" },
                { "name": "c", "source": "registry.example.com/acme/dns/aws" },
                { "name": "d", "source": "git::https://example.com/a.git" }],
    }));
    let page = Html::parse(&page);
    let mirror = "/mirrored/registry.terraform.io/hashicorp";
    for (text, link) in [
        (
            "aws_nat_gateway",
            format!("{mirror}/aws/latest/docs/resources/nat_gateway?or=public"),
        ),
        (
            "widget_part",
            "/providers/acme/widget/latest/docs/data-sources/part?or=package".to_owned(),
        ),
        (
            "random_password",
            format!("{mirror}/random/latest/docs/ephemeral-resources/password?or=public"),
        ),
        ("hashicorp/aws", format!("{mirror}/aws?or=public")),
        (
            "registry.opentofu.org/acme/gear",
            "/mirrored/registry.opentofu.org/acme/gear".to_owned(),
        ),
        (
            "./modules/endpoints",
            "/modules/acme/vpc/aws/5.2.0/submodules/endpoints".to_owned(),
        ),
        (
            "acme/kms/aws//modules/key",
            "/modules/registry.opentofu.org/acme/kms/aws/latest/submodules/key?or=public"
                .to_owned(),
        ),
        (
            "registry.example.com/acme/dns/aws",
            "/modules/acme/dns/aws".to_owned(),
        ),
    ] {
        assert_eq!(links(&page, text), [link], "{text}");
    }
    for text in ["terraform_data", "git::https://example.com/a.git"] {
        assert_eq!(links(&page, text), [] as [String; 0], "{text}");
    }
}

#[test]
fn descriptions_are_markdown_without_headings_ids_and_tags() {
    let markdown =
        "The `subnets`:\n    - `a`:\n      - b\n\n    # c <x@y.example>\n    two\n    lines";
    let html = "<p>The <code>subnets</code>:</p>\n<ul><li><code>a</code>:<ul><li>b</li>\n</ul>\n</li>\n</ul>\n\
        <p>c <a href=\"mailto:x@y.example\" rel=\"nofollow noopener\">x@y.example</a></p>\n<p>two<br>\nlines</p>\n";
    for (description, html) in [(markdown, html), (pages::HOSTILE, "&lt;script&gt;alert(1)")] {
        let value = json!([{ "name": "x", "description": description }]);
        let page = module_with(json!({ "inputs": value, "outputs": value }));
        assert_eq!(page.matches(html).count(), 2, "{page}");
        assert!(!page.contains("<script>"));
    }
}

#[test]
fn the_readme_has_its_generated_tables_only_if_the_reader_asks_for_all() {
    let text = "# VPC\n<!-- BEGIN_TF_DOCS -->\n## Inputs\n| Name |\n|---|\n| generated |\n<!-- END_TF_DOCS -->\n## Usage\n";
    with_release(|release| {
        let shown = |here: &str| {
            let site = Site {
                here: here.to_owned(),
                ..fixtures::site()
            };
            let readme = rendering::readme(&site, release, "", text);
            module(&site, release, Some(&readme))
        };
        let page = shown("/modules/acme/vpc/aws/5.2.0");
        assert!(
            !page.contains("generated |") && !page.contains("<td>generated"),
            "{page}"
        );
        let page = Html::parse(&page);
        let whole = "/modules/acme/vpc/aws/5.2.0?tab=readme#page-readme";
        assert_eq!(links(&page, "Show the whole README"), [whole]);
        assert_eq!(links(&page, "Usage"), ["#usage"]);
        let page = shown("/modules/acme/vpc/aws/5.2.0?tab=readme");
        assert!(page.contains("<td>generated") && !page.contains("whole README"));
    });
}

#[test]
fn code_of_the_module_calls_it_by_its_address_in_this_registry() {
    const CALL: &str = "module \"vpc\" {\n";
    with_release(|release| {
        let site = fixtures::site();
        let own = |directory, code: &str| {
            let text = format!("```hcl\n{code}```\n");
            let readme = rendering::readme(&site, release, directory, &text);
            let page = Html::parse(&readme.html);
            (
                page.named("code").next().unwrap().text.clone(),
                readme.has_own_sources,
            )
        };
        for (directory, code, expected) in [
            (
                "",
                "  source = \"acme/vpc/aws\"\n  version = \"1.0.0\" # old\n  cidr = 1\n}\n",
                "  source  = \"registry.example.com/acme/vpc/aws\"\n  version = \"~> 5.2\"\n  cidr = 1\n}\n",
            ),
            (
                "examples/simple",
                "  source   = \"../../modules/a\" # here\n}\n",
                "  source   = \"registry.example.com/acme/vpc/aws//modules/a\" # here\n  version  = \"~> 5.2\"\n}\n",
            ),
            // There may be arguments before and between the two, and the end may be left out.
            (
                "",
                "version = \"1\"\nx = {\n  version = 2\n}\nsource = \"acme/vpc/aws//modules/a\"\n",
                "x = {\n  version = 2\n}\nsource  = \"registry.example.com/acme/vpc/aws//modules/a\"\nversion = \"~> 5.2\"\n",
            ),
            (
                "",
                "source = \"./\"\n\n# old\nversion = \"1\"\n}\nversion = 2\n",
                "source  = \"registry.example.com/acme/vpc/aws\"\nversion = \"~> 5.2\"\n\n# old\n}\nversion = 2\n",
            ),
        ] {
            let expected = format!("{CALL}{expected}");
            assert_eq!(
                own(directory, &format!("{CALL}{code}")),
                (expected, true),
                "{code}"
            );
        }
        for code in [
            "source = \"../..\"\n",
            "source = \"./files\"\n",
            "source = \"acme/vpc/aws2\"\n",
            "source = \"acme/dns/aws\"\n",
            "# source = \"acme/vpc/aws\"\n",
            "x = {\n  source = \"./modules/a\"\n}\n",
            "}\nresource \"aws_s3_object\" \"x\" {\n  source = \"./modules/a\"\n}\n",
        ] {
            let code = format!("{CALL}{code}");
            assert_eq!(own("", &code), (code.clone(), false), "{code}");
        }
        let view = release.details.module.as_ref().unwrap();
        let files = [ExampleFile {
            name: "main.tf",
            text: Some("module \"vpc\" {\n  source = \"../..\""),
            path: "",
        }];
        let path = DocumentPath::Example("simple".parse().unwrap());
        let page = module_part(&site, release, &path, &view.examples[0], None, &files);
        let page = Html::parse(&page);
        let mut codes = page.named("code");
        assert!(codes.any(|it| it.text.contains("acme/vpc/aws\"\n  version")));
    });
}
