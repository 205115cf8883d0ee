//! Reading tokens of a document type declaration. Numbers are productions of XML 1.0, 5th edition.

use super::Fault;
use crate::characters::{is_name, is_name_start, is_ncname, is_space};

/// The offset of an error, and the error.
pub type Failure = (usize, Fault);

pub struct Cursor<'t> {
    pub text: &'t str,
    pub at: usize,
}

impl<'t> Cursor<'t> {
    pub fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub fn fail<T>(&self, message: &str) -> Result<T, Failure> {
        Err((self.at, message.into()))
    }

    pub fn starts_with(&self, token: &str) -> bool {
        self.rest().starts_with(token)
    }

    pub fn take(&mut self, token: &str) -> bool {
        let found = self.starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    pub fn expect(&mut self, token: &str) -> Result<(), Failure> {
        if self.take(token) { Ok(()) } else { self.fail(&format!("`{token}` is expected here")) }
    }

    /// [3] Optional white space; returns whether there is any.
    pub fn space(&mut self) -> bool {
        let count = self.rest().bytes().take_while(|byte| is_space(*byte)).count();
        self.at += count;
        count > 0
    }

    pub fn required_space(&mut self) -> Result<(), Failure> {
        if self.space() { Ok(()) } else { self.fail("white space is expected here") }
    }

    /// [5] Name, which may contain colons.
    pub fn name(&mut self) -> Result<&'t str, Failure> {
        if !self.rest().starts_with(|c: char| is_name_start(c) || c == ':') {
            return self.fail("a name is expected here");
        }
        self.name_token()
    }

    /// The name of an entity, notation or instruction (Namespaces in XML 1.0, 7).
    pub fn name_without_colon(&mut self) -> Result<&'t str, Failure> {
        let start = self.at;
        let name = self.name()?;
        if name.contains(':') { Err((start, "this name contains a colon".into())) } else { Ok(name) }
    }

    /// The name of an element or attribute (Namespaces in XML 1.0, 5).
    pub fn qualified_name(&mut self) -> Result<&'t str, Failure> {
        let start = self.at;
        let name = self.name()?;
        let (prefix, local) = name.split_once(':').unwrap_or((name, name));
        match is_ncname(prefix) && is_ncname(local) {
            true => Ok(name),
            false => {
                Err((start, "a name must have no colon, or a prefix, one colon and a local name".into()))
            }
        }
    }

    /// [7] Nmtoken.
    pub fn name_token(&mut self) -> Result<&'t str, Failure> {
        let rest = self.rest();
        let token = &rest[..rest.find(|c: char| !is_name(c)).unwrap_or(rest.len())];
        if token.is_empty() {
            return self.fail("a name is expected here");
        }
        self.at += token.len();
        Ok(token)
    }

    /// A quoted text, and the position where it starts.
    pub fn quoted(&mut self) -> Result<(usize, &'t str), Failure> {
        let rest = self.rest();
        let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            return self.fail("a quoted text is expected here");
        };
        match rest[1..].find(quote) {
            Some(length) => {
                let start = self.at + 1;
                self.at += length + 2;
                Ok((start, &rest[1..1 + length]))
            }
            None => self.fail("a quoted text without its end"),
        }
    }

    pub fn until(&mut self, token: &str) -> Result<&'t str, Failure> {
        let rest = self.rest();
        match rest.find(token) {
            Some(at) => {
                self.at += at + token.len();
                Ok(&rest[..at])
            }
            None => self.fail(&format!("`{token}` is missing")),
        }
    }

    /// [75] ExternalID, if there is one. With `public`, [83] PublicID is enough, which has no system identifier.
    pub fn external_id(&mut self, public: bool) -> Result<bool, Failure> {
        if self.take("PUBLIC") {
            self.required_space()?;
            self.public_identifier()?;
            let here = self.at;
            let spaced = self.space();
            if public && !self.rest().starts_with(['"', '\'']) {
                self.at = here;
                return Ok(true);
            }
            if !spaced {
                return self.fail("white space is expected here");
            }
        } else if self.take("SYSTEM") {
            self.required_space()?;
        } else {
            return Ok(false);
        }
        self.quoted()?;
        Ok(true)
    }

    /// [12] PubidLiteral, of the characters of [13].
    fn public_identifier(&mut self) -> Result<(), Failure> {
        let (start, identifier) = self.quoted()?;
        let allowed = |c: char| {
            c.is_ascii_alphanumeric() || matches!(c, ' ' | '\r' | '\n') || "-'()+,./:=?;!*#@$_%".contains(c)
        };
        match identifier.find(|c| !allowed(c)) {
            None => Ok(()),
            Some(at) => Err((start + at, "a public identifier cannot contain this character".into())),
        }
    }

    /// [15] Comment, after its `<!--`.
    pub fn comment(&mut self) -> Result<(), Failure> {
        let start = self.at;
        let comment = self.until("-->")?;
        if comment.contains("--") || comment.ends_with('-') {
            return Err((start, "`--` inside a comment".into()));
        }
        Ok(())
    }

    /// [16] PI, after its `<?`. [17] Its target is a name other than `xml`.
    pub fn instruction(&mut self) -> Result<(), Failure> {
        let start = self.at;
        let target = self.name_without_colon()?;
        if target.eq_ignore_ascii_case("xml") {
            return Err((start, "a processing instruction without a proper target".into()));
        }
        if self.take("?>") {
            return Ok(());
        }
        self.required_space()?;
        self.until("?>").map(|_| ())
    }
}
