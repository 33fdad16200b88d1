//! Documents at fixed paths: the description of the search, `robots.txt` and the site map.

use std::borrow::Cow;

use terrace_core::api::route::PageRoute;

use crate::site::Site;

/// Returns the description of the search, by which browsers offer it in the address bar (OpenSearch 1.1).
pub fn open_search(site: &Site) -> String {
    // Longer names are not allowed by the specification.
    let short: String = site.name.chars().take(16).collect();
    let search = format!("{}{}?q={{searchTerms}}", site.origin, PageRoute::Search);
    let icon = format!(
        "{}{}",
        site.origin,
        crate::assets::path_of(&site.assets.icon)
    );
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <OpenSearchDescription xmlns=\"http://a9.com/-/spec/opensearch/1.1/\">\n\
         <ShortName>{}</ShortName>\n<Description>Modules and providers of {}</Description>\n\
         <InputEncoding>UTF-8</InputEncoding>\n<Image width=\"16\" height=\"16\" type=\"image/svg+xml\">{}</Image>\n\
         <Url type=\"text/html\" template=\"{}\"/>\n</OpenSearchDescription>\n",
        escaped(&short),
        escaped(&site.hostname),
        escaped(&icon),
        escaped(&search),
    )
}

/// Returns `robots.txt`: public pages may be crawled, except searches and comparisons, of which there are too many.
pub fn robots(site: &Site) -> String {
    if site.is_private {
        return "User-agent: *\nDisallow: /\n".to_owned();
    }
    format!(
        "User-agent: *\nDisallow: /search\nDisallow: /*/compare\nDisallow: /*/used-by\nDisallow: /archives/\nDisallow: /v2/\n\
         Sitemap: {}{}\n",
        site.origin,
        PageRoute::Sitemap
    )
}

/// Returns the site map of these pages; at most 50,000 are allowed.
pub fn sitemap(site: &Site, pages: impl IntoIterator<Item = PageRoute>) -> String {
    let mut xml = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"
        .to_owned();
    for page in pages.into_iter().take(SITEMAP_PAGES) {
        xml.push_str("<url><loc>");
        xml.push_str(&escaped(&format!("{}{page}", site.origin)));
        xml.push_str("</loc></url>\n");
    }
    xml.push_str("</urlset>\n");
    xml
}

/// The number of pages in a site map (sitemaps.org protocol).
const SITEMAP_PAGES: usize = 50_000;

/// Returns a text for an element or an attribute of XML. Characters that XML 1.0 does not have are left out.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    let needs_none = |c: char| !matches!(c, '&' | '<' | '>' | '"' | '\'') && is_xml(c);
    if text.chars().all(needs_none) {
        return Cow::Borrowed(text);
    }
    let mut xml = String::with_capacity(text.len());
    for c in text.chars().filter(|c| is_xml(*c)) {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\'' => xml.push_str("&#39;"),
            c => xml.push(c),
        }
    }
    Cow::Owned(xml)
}

/// Returns whether XML 1.0 has the character (section 2.2).
fn is_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}
