//! The tree of directives, with included files in their places.

use std::ops::Range;

use super::error::{Fault, ReadError};
use super::glob;
use super::known;
use super::source::{Source, other_product};
use super::token::{End, Lexer, Statement, Word};

/// Blocks and includes in each other at most: real ones have seven or so.
const MOST_DEPTH: usize = 40;

/// Directives at most, included files counted at each include.
const MOST_DIRECTIVES: usize = 200_000;

/// One directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Its name.
    pub name: String,
    /// What follows the name.
    pub args: Vec<Word>,
    /// What stands in its braces, if it has any.
    pub block: Option<Block>,
    /// From its name to behind its `;` or `}`.
    pub span: Range<usize>,
}

/// What stands in braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The directives, those of included files in their places.
    pub children: Vec<Directive>,
    /// Between the braces.
    pub inside: Range<usize>,
    /// Whether it is another language's text, such as Lua: then there are no directives.
    pub foreign: bool,
}

impl Directive {
    /// An argument's text.
    pub fn arg(&self, index: usize) -> Option<&str> {
        self.args.get(index).map(|word| word.text.as_str())
    }

    /// All arguments' texts.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.args.iter().map(|word| word.text.as_str())
    }

    /// What stands in its braces; nothing for a plain directive.
    pub fn children(&self) -> &[Directive] {
        self.block.as_ref().map_or(&[], |block| &block.children)
    }

    /// Name and arguments as they would be written.
    pub fn written(&self) -> String {
        let mut out = self.name.clone();
        for arg in self.values() {
            out.push(' ');
            out.push_str(&super::token::quote(arg));
        }
        out
    }
}

/// A configuration that has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The text.
    pub source: Source,
    /// The main file's directives.
    pub root: Vec<Directive>,
}

impl Tree {
    /// Reads a configuration: a file by itself or the dump that `nginx -T` prints.
    ///
    /// # Errors
    /// When it cannot be read; one line each.
    pub fn read(text: impl Into<String>) -> Result<Tree, ReadError> {
        let source = Source::new(text.into())?;
        if let Some((product, hint)) = other_product(&source.text) {
            return Err(ReadError::OtherProduct { product, hint });
        }
        let mut reader = Reader { source: &source, count: 0 };
        let root = reader.file(0, 0)?;
        Ok(Tree { source, root })
    }

    /// What stands in `http`: the servers' level. A file that holds servers by itself is what
    /// an include of `http` would hold.
    pub fn http(&self) -> &[Directive] {
        let http = self.root.iter().find(|directive| directive.name == "http");
        http.map_or(&self.root, Directive::children)
    }

    /// Whether there is no `http` block around the servers.
    pub fn is_fragment(&self) -> bool {
        !self.root.iter().any(|directive| directive.name == "http")
    }
}

struct Reader<'a> {
    source: &'a Source,
    count: usize,
}

impl Reader<'_> {
    fn file(&mut self, index: usize, depth: usize) -> Result<Vec<Directive>, ReadError> {
        let span = self.source.files[index].span.clone();
        let mut lexer = Lexer { text: &self.source.text, at: span.start, stop: span.end };
        if index == 0 {
            skip_said(&mut lexer);
        }
        let (directives, _) = self.directives(&mut lexer, depth, None)?;
        Ok(directives)
    }

    /// Directives up to the `}` of the block that `opened`, or to the file's end.
    fn directives(
        &mut self,
        lexer: &mut Lexer<'_>,
        depth: usize,
        opened: Option<usize>,
    ) -> Result<(Vec<Directive>, usize), ReadError> {
        let mut directives = Vec::new();
        loop {
            let statement = lexer.statement().map_err(|fault| fault.at(self.source))?;
            let start = statement.span.start;
            match (statement.end, opened) {
                (End::Close, Some(_)) => return Ok((directives, statement.span.end - 1)),
                (End::File, None) => return Ok((directives, statement.span.end)),
                (End::Close, None) => {
                    let fault = Fault::new(start, "`}`", "a directive or the end of the file");
                    return Err(fault.at(self.source));
                }
                (End::File, Some(opened)) => {
                    let line = self.source.place(opened).line;
                    let what = format!("`}}` for the block of line {line}");
                    return Err(Fault::new(start, "the file ends", what).at(self.source));
                }
                _ => {}
            }
            if depth >= MOST_DEPTH {
                let place = self.source.place(start);
                return Err(ReadError::TooDeep { place, limit: MOST_DEPTH });
            }
            self.count += 1;
            if self.count > MOST_DIRECTIVES {
                return Err(ReadError::TooMany { limit: MOST_DIRECTIVES });
            }
            let directive = self.directive(lexer, statement, depth)?;
            if directive.name == "include" && directive.block.is_none() {
                self.include(&directive, depth, &mut directives)?;
            } else {
                directives.push(directive);
            }
        }
    }

    fn directive(
        &mut self,
        lexer: &mut Lexer<'_>,
        statement: Statement,
        depth: usize,
    ) -> Result<Directive, ReadError> {
        let Statement { mut words, end, mut span } = statement;
        let name = words.remove(0);
        let block = match end {
            End::Open if name.text.ends_with("_by_lua_block") => {
                let inside = foreign(lexer, span.end).map_err(|fault| fault.at(self.source))?;
                span.end = inside.end + 1;
                Some(Block { children: Vec::new(), inside, foreign: true })
            }
            End::Open => {
                let start = span.end;
                let (children, close) = self.directives(lexer, depth + 1, Some(span.start))?;
                span.end = close + 1;
                Some(Block { children, inside: start..close, foreign: false })
            }
            _ => None,
        };
        let directive = Directive { name: name.text, args: words, block, span };
        known::check(&directive).map_err(|fault| fault.at(self.source))?;
        Ok(directive)
    }

    fn include(
        &mut self,
        directive: &Directive,
        depth: usize,
        into: &mut Vec<Directive>,
    ) -> Result<(), ReadError> {
        let Some(name) = directive.arg(0) else { return Ok(()) };
        let folder = self.source.folder();
        let full = if name.starts_with('/') || folder.is_empty() {
            tidy(name)
        } else {
            tidy(&format!("{folder}/{name}"))
        };
        let mut found: Vec<(String, usize)> = Vec::new();
        for (index, file) in self.source.files.iter().enumerate() {
            let own = tidy(&file.name);
            let fits = match glob::is_pattern(name) {
                true => glob::fits(&full, &own),
                false => own == full,
            };
            if fits {
                found.push((own, index));
            }
        }
        if found.is_empty() && !glob::is_pattern(name) {
            let place = self.source.place(directive.span.start);
            return Err(ReadError::Include { place, name: name.into() });
        }
        // As glob(3) sorts them.
        found.sort();
        for (_, index) in found {
            into.extend(self.file(index, depth + 1)?);
        }
        Ok(())
    }
}

/// A path without doubled slashes and `./`.
fn tidy(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for (index, part) in path.split('/').enumerate() {
        if index > 0 && (part.is_empty() || part == ".") {
            continue;
        }
        parts.push(part);
    }
    parts.join("/")
}

/// What `nginx -T` says before the dump, when both its outputs went to one file.
fn skip_said(lexer: &mut Lexer<'_>) {
    while lexer.text[lexer.at..lexer.stop].starts_with("nginx: ") {
        let rest = &lexer.text[lexer.at..lexer.stop];
        lexer.at += rest.find('\n').map_or(rest.len(), |end| end + 1);
    }
}

/// Text of another language in braces: strings and comments of Lua may hold braces too.
fn foreign(lexer: &mut Lexer<'_>, start: usize) -> Result<Range<usize>, Fault> {
    let bytes = lexer.text.as_bytes();
    let mut depth = 1;
    while lexer.at < lexer.stop {
        let at = lexer.at;
        lexer.at += 1;
        match bytes[at] {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                while lexer.at < lexer.stop && bytes[lexer.at] != b'\n' {
                    lexer.at += 1;
                }
            }
            quote @ (b'"' | b'\'') => {
                while lexer.at < lexer.stop && bytes[lexer.at] != quote && bytes[lexer.at] != b'\n'
                {
                    lexer.at += if bytes[lexer.at] == b'\\' { 2 } else { 1 };
                }
                lexer.at += 1;
            }
            _ => {}
        }
        if depth == 0 {
            return Ok(start..at);
        }
    }
    lexer.at = lexer.stop;
    Err(Fault::new(start, "a block that is never closed", "`}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directives: &[Directive]) -> Vec<&str> {
        directives.iter().map(|directive| directive.name.as_str()).collect()
    }

    #[test]
    fn a_dump_is_one_tree() {
        let dump = "nginx: the configuration file /e/nginx.conf syntax is ok\n\
                    # configuration file /e/nginx.conf:\nhttp {\n include mime.types;\n \
                    include /e/conf.d/*.conf;\n include none/*.conf; c 1;\n}\n\n\
                    # configuration file /e/mime.types:\ntypes { a/b c; }\n\
                    # configuration file /e/conf.d/b.conf:\nb 1;\n\
                    # configuration file /e/conf.d/a.conf:\na 1;\n";
        let tree = Tree::read(dump).unwrap();
        assert_eq!(names(tree.http()), ["types", "a", "b", "c"]);
        assert_eq!(tree.source.line(tree.http()[1].span.start), "/e/conf.d/a.conf:1");
        assert!(!tree.is_fragment());
    }

    #[test]
    fn faults_say_where_and_what_is_expected() {
        for (text, said) in [
            (
                "http {\n  server {\n",
                "line 3, column 1: the file ends; `}` for the block of line 2 is expected here",
            ),
            (
                "a b\n",
                "line 2, column 1: the file ends; `;` or `{` after the directive is expected here",
            ),
            ("a;\n}", "line 2, column 1: `}`; a directive or the end of the file is expected here"),
            ("a {\n b\n}", "line 3, column 1: `}`; `;` before it is expected here"),
            (
                "a 'b;\n",
                "line 1, column 3: a quote that is never closed; a closing `'` is expected here",
            ),
            (
                "a 'b'c;\n",
                "line 1, column 6: `c` right behind a quoted word; a space, `;` or `{` is expected here",
            ),
            (";", "line 1, column 1: `;`; a directive's name is expected here"),
            (
                "http {\n proxy_pass http://a\n proxy_buffering off;\n}",
                "line 2, column 2: proxy_pass takes one value, not 3; a `;` at the end of line 2 is expected here",
            ),
            (
                "include mime.types;",
                "line 1, column 1: the included file mime.types is missing: give the whole output of `nginx -T`",
            ),
        ] {
            assert_eq!(Tree::read(text).unwrap_err().to_string(), said, "{text:?}");
        }
    }

    #[test]
    fn what_has_no_end_has_a_bound() {
        let deep = "a {".repeat(5_000);
        assert!(matches!(Tree::read(deep), Err(ReadError::TooDeep { .. })));
        let own = "# configuration file /e/n:\ninclude /e/n;\n";
        assert!(matches!(Tree::read(own), Err(ReadError::TooDeep { .. })));
        let twice = "# configuration file /e/n:\na 1; include /e/*; include /e/*;\n";
        let twice = Tree::read(twice).unwrap_err();
        assert!(matches!(twice, ReadError::TooDeep { .. } | ReadError::TooMany { .. }));
        let huge = "a b;\n".repeat(super::super::source::MOST_BYTES / 5 + 1);
        assert!(matches!(Tree::read(huge), Err(ReadError::TooLarge { .. })));
    }

    #[test]
    fn another_products_file_is_named() {
        let haproxy = "global\n    maxconn 10\ndefaults\n    mode http\nfrontend f\n    bind :80\n";
        let said = Tree::read(haproxy).unwrap_err().to_string();
        assert!(said.contains("looks like a haproxy.cfg") && said.contains("--haproxy-config"));
    }

    #[test]
    fn lua_is_stepped_over() {
        let tree = Tree::read("a { x_by_lua_block { if x then y = {1} end -- }\n s = \"}\" } b; }")
            .unwrap();
        assert_eq!(names(tree.root[0].children()), ["x_by_lua_block", "b"]);
    }
}
