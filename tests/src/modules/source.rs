// SPDX-License-Identifier: MIT OR Apache-2.0
//! One source file: the modules it declares, the names it defines and imports, the paths it uses.

use anyhow::{anyhow, bail, Context, Result};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What a module has.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// Where it is written.
    pub(super) file: PathBuf,
    /// Items by their names.
    pub(super) defines: BTreeSet<String>,
    /// Names that stand for paths, by `use`.
    pub(super) imports: BTreeMap<String, Vec<String>>,
    /// Modules of which all names are imported.
    pub(super) globs: Vec<Vec<String>>,
    /// All paths that may lead to other modules: those of `use`, and those that begin with `crate`,
    /// `self` or `super`.
    pub(super) paths: Vec<Vec<String>>,
}

/// Words before the name of an item.
const ITEMS: [&str; 9] =
    ["struct", "enum", "union", "fn", "trait", "type", "const", "static", "macro_rules"];

/// Tokens of one group, taken one by one.
struct Tokens {
    all: Vec<TokenTree>,
    at: usize,
}

impl Tokens {
    fn new(stream: TokenStream) -> Self {
        Self { all: stream.into_iter().collect(), at: 0 }
    }

    /// The token that so many others stand before.
    fn peek(&self, others: usize) -> Option<&TokenTree> {
        self.all.get(self.at + others)
    }

    fn next(&mut self) -> Option<TokenTree> {
        let token = self.peek(0).cloned();
        self.at += usize::from(token.is_some());
        token
    }

    fn is_mark(&self, others: usize, mark: char) -> bool {
        matches!(self.peek(others), Some(TokenTree::Punct(found)) if found.as_char() == mark)
    }
}

/// Reads the module at `place` from its file, and all modules below it.
pub(super) fn read(
    file: &Path,
    place: Vec<String>,
    all: &mut BTreeMap<Vec<String>, Module>,
) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let tokens: TokenStream = text.parse().map_err(|e| anyhow!("{}: {e}", file.display()))?;
    let directory = file.parent().unwrap_or(Path::new(""));
    let stem = file.file_stem().unwrap_or_default();
    let below = match ["main", "lib", "mod"].iter().any(|own| *own == stem) {
        true => directory.to_path_buf(),
        false => directory.join(stem),
    };
    items(tokens, file, &below, place, all)
}

/// Reads the items of a module, whose children's files are in the directory `below`.
fn items(
    tokens: TokenStream,
    file: &Path,
    below: &Path,
    place: Vec<String>,
    all: &mut BTreeMap<Vec<String>, Module>,
) -> Result<()> {
    let mut module = Module { file: file.to_path_buf(), ..Module::default() };
    let mut children = Vec::new();
    scan(tokens, true, &mut module, &mut children)?;
    all.insert(place.clone(), module);
    for (name, body) in children {
        let child: Vec<String> = place.iter().cloned().chain([name.clone()]).collect();
        let directory = below.join(&name);
        match body {
            Some(body) => items(body, file, &directory, child, all)?,
            None => {
                let files = [below.join(format!("{name}.rs")), directory.join("mod.rs")];
                let found = files.iter().find(|file| file.is_file());
                let found = found.with_context(|| format!("mod {name}: no {}", files[0].display()));
                read(found?, child, all)?;
            }
        }
    }
    Ok(())
}

/// Children by their names, with their bodies if these stand in the same file.
type Children = Vec<(String, Option<TokenStream>)>;

/// Goes through tokens; `outside`: of no function or other item of the module.
fn scan(
    tokens: TokenStream,
    outside: bool,
    module: &mut Module,
    children: &mut Children,
) -> Result<()> {
    let mut tokens = Tokens::new(tokens);
    while let Some(token) = tokens.next() {
        let word = token.to_string();
        match token {
            TokenTree::Punct(_) if word == "#" && attribute_of_tests(&mut tokens) => {
                skip_item(&mut tokens);
            }
            TokenTree::Group(group) => {
                // The body of an implementation has functions, but none of the module.
                scan(group.stream(), false, module, children)?;
            }
            TokenTree::Ident(_) if word == "mod" => {
                let Some(TokenTree::Ident(name)) = tokens.next() else { continue };
                match tokens.next() {
                    Some(TokenTree::Group(body)) => {
                        children.push((name.to_string(), Some(body.stream())));
                    }
                    _ if outside => children.push((name.to_string(), None)),
                    _ => bail!("mod {name}; inside of an item"),
                }
            }
            TokenTree::Ident(_) if word == "use" && !tokens.is_mark(0, '<') => {
                let mut tree = Vec::new();
                use_tree(&mut tokens, &mut Vec::new(), &mut tree);
                for Leaf { path, name } in tree {
                    match name {
                        Some(name) => drop(module.imports.insert(name, path.clone())),
                        None => module.globs.push(path.clone()),
                    }
                    module.paths.push(path);
                }
            }
            TokenTree::Ident(_) if ["crate", "self", "super"].contains(&&*word) => {
                let path = path_from(word.clone(), &mut tokens);
                if path.len() > 1 {
                    module.paths.push(path);
                }
            }
            TokenTree::Ident(_) if outside && ITEMS.contains(&&*word) => {
                // macro_rules! name
                if tokens.is_mark(0, '!') {
                    tokens.next();
                }
                if let Some(TokenTree::Ident(name)) = tokens.peek(0) {
                    module.defines.insert(name.to_string());
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Takes an attribute; whether it is `#[cfg(test)]`.
fn attribute_of_tests(tokens: &mut Tokens) -> bool {
    let Some(TokenTree::Group(attribute)) = tokens.peek(0) else { return false };
    let words: String = attribute.to_string().split_whitespace().collect();
    tokens.next();
    words == "[cfg(test)]"
}

/// Takes what an attribute belongs to, up to its body or semicolon.
fn skip_item(tokens: &mut Tokens) {
    let mut is_use = false;
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Ident(word) => is_use |= *word == "use",
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !is_use => return,
            TokenTree::Punct(mark) if mark.as_char() == ';' => return,
            _ => {}
        }
    }
}

/// What a `use` declaration brings.
struct Leaf {
    path: Vec<String>,
    /// What it is called here; `None`: all that is in it.
    name: Option<String>,
}

/// Takes a tree of `use`, that is `a::{self, b as c, d::*}`, up to a comma or semicolon.
fn use_tree(tokens: &mut Tokens, path: &mut Vec<String>, leaves: &mut Vec<Leaf>) {
    let length = path.len();
    let mut renamed = None;
    let mut is_leaf = true;
    while let Some(token) = tokens.peek(0).cloned() {
        match &token {
            TokenTree::Punct(mark) if [',', ';'].contains(&mark.as_char()) => break,
            TokenTree::Punct(mark) if mark.as_char() == '*' => {
                leaves.push(Leaf { path: path.clone(), name: None });
                is_leaf = false;
                tokens.next();
            }
            TokenTree::Group(group) => {
                let mut inner = Tokens::new(group.stream());
                while inner.peek(0).is_some() {
                    use_tree(&mut inner, path, leaves);
                    inner.next();
                }
                is_leaf = false;
                tokens.next();
            }
            TokenTree::Ident(word) if *word == "as" => {
                tokens.next();
                renamed = tokens.next().map(|name| name.to_string());
            }
            TokenTree::Ident(word) => {
                // `a::{self}` is a itself.
                if *word != "self" || path.is_empty() {
                    path.push(word.to_string());
                }
                tokens.next();
            }
            _ => drop(tokens.next()),
        }
    }
    if is_leaf && !path.is_empty() {
        let name = renamed.or_else(|| path.last().cloned());
        leaves.push(Leaf { path: path.clone(), name });
    }
    path.truncate(length);
}

/// Takes the rest of a path that begins with a word.
fn path_from(first: String, tokens: &mut Tokens) -> Vec<String> {
    let mut path = vec![first];
    while tokens.is_mark(0, ':') && tokens.is_mark(1, ':') {
        let Some(TokenTree::Ident(word)) = tokens.peek(2) else { break };
        path.push(word.to_string());
        tokens.at += 3;
    }
    path
}
