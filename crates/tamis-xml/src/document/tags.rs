//! Start tags: the element, its attributes and its namespaces.

use quick_xml::events::BytesStart;

use super::attributes::{Written, split};
use super::dtd::{AttributeList, AttributeType, Dtd, Fault, append_value};
use super::names::{
    NO_NAMESPACE, NO_PREFIX, NamespaceId, PrefixId, XML_NAMESPACE, XML_PREFIX, XMLNS_NAMESPACE,
};
use super::read::{OpenElement, Session};
use super::{NodeIndex, NodeKind};
use crate::characters::is_ncname;
use crate::error::Result;
use crate::error::check_limit as check;

/// An attribute that always identifies its element, even if not declared (xml:id Version 1.0, 4).
const XML_ID: &str = "xml:id";

impl Session<'_> {
    /// Adds an open element with its attributes.
    pub(super) fn start_tag<'t>(
        &mut self,
        tag: &'t BytesStart<'_>,
        dtd: &'t Dtd,
        start: usize,
        kept: &mut Vec<Written<'static>>,
    ) -> Result<()> {
        // Only the memory of the vector is reused; it is empty between calls.
        let mut attributes: Vec<Written<'t>> = std::mem::take(kept);
        let result = self.start_tag_with(tag, dtd, start, &mut attributes);
        attributes.clear();
        *kept = attributes.into_iter().map(|_| Written { name: "", value: "", tokenised: false }).collect();
        result
    }

    fn start_tag_with<'t>(
        &mut self,
        tag: &'t BytesStart<'_>,
        dtd: &'t Dtd,
        start: usize,
        attributes: &mut Vec<Written<'t>>,
    ) -> Result<()> {
        let written = tag.name().into_inner();
        if let Err((at, message)) = split(tag.attributes_raw(), attributes) {
            return self.fail(start + 1 + written.len() + at, message);
        }
        self.open_element(written, dtd, start, attributes)
    }

    /// Adds an open element with its attributes. Its tag starts at `start`.
    pub(super) fn open_element<'t>(
        &mut self,
        written: &'t str,
        dtd: &'t Dtd,
        start: usize,
        attributes: &mut Vec<Written<'t>>,
    ) -> Result<()> {
        let inside = start + 1 + written.len();
        check("attributes of an element", "attributes", attributes.len(), self.limits.attributes)?;
        let declared = dtd.attributes(written);
        if let Some(declared) = declared {
            self.add_defaults(declared, attributes, inside)?;
        }
        let bound = self.document.reading.bound.len();
        let mut declares = false;
        for attribute in attributes.iter().filter(|attribute| attribute.name.starts_with("xmlns")) {
            declares |= self.declare(attribute, dtd, bound, inside)?;
        }
        let name = self.name(written, true, start + 1)?;
        let text = self.document.text.len() as u32;
        let element = self.document.push(NodeKind::Element, name, (text, text));
        self.document.reading.open.push(OpenElement { node: element, bound, last: 0 });
        for attribute in attributes.iter() {
            if declares && is_declaration(attribute.name) {
                continue;
            }
            let name = self.name(attribute.name, false, inside)?;
            let is_id = attribute.name == XML_ID
                || declared.is_some_and(|list| list.declared(attribute.name).0 == AttributeType::Id);
            let tokenised = attribute.tokenised || is_id;
            let value = self.document.values.len() as u32;
            let (budget, values) = (&mut self.budget, &mut self.document.values);
            if let Err(fault) = append_value(attribute.value, tokenised, dtd, budget, values) {
                return self.fault(inside, fault);
            }
            let value = (value, self.document.values.len() as u32);
            self.document.push(NodeKind::Attribute, name, value);
            if is_id {
                let id = &self.document.values[value.0 as usize..value.1 as usize];
                self.document.identified.entry(id.into()).or_insert(element);
            }
        }
        let count = self.document.nodes.len() as u32 - element - 1;
        let node = &mut self.document.nodes[element as usize];
        node.attributes = count;
        node.end = element + 1 + count;
        self.check_names()?;
        self.check_distinct(element, count, inside)
    }

    /// Adds declared attributes that have a default and are not written. Their size counts as
    /// entity expansion, because a short tag may imply many of them.
    fn add_defaults<'t>(
        &mut self,
        declared: &'t AttributeList,
        attributes: &mut Vec<Written<'t>>,
        offset: usize,
    ) -> Result<()> {
        let mut given = vec![false; declared.defaults.len()];
        for attribute in attributes.iter_mut() {
            let (kind, default) = declared.declared(attribute.name);
            attribute.tokenised = kind != AttributeType::Text;
            if let Some(default) = default {
                given[default] = true;
            }
        }
        for (default, _) in declared.defaults.iter().zip(given).filter(|(_, given)| !given) {
            let size = default.name.len() + default.value.len();
            match self.budget.checked_sub(size) {
                Some(left) => self.budget = left,
                None => return self.fault(offset, Fault::Expansion),
            }
            let (name, value) = (&*default.name, &*default.value);
            attributes.push(Written { name, value, tokenised: default.tokenised });
        }
        check("attributes of an element", "attributes", attributes.len(), self.limits.attributes)
    }

    fn name(&mut self, written: &str, element: bool, offset: usize) -> Result<u32> {
        let bindings = &self.document.reading.bindings;
        let namespace_of = |prefix: PrefixId| match prefix {
            NO_PREFIX if !element => Ok(NO_NAMESPACE),
            _ => match bindings.get(prefix as usize).and_then(|bound| bound.last()) {
                Some(&namespace) => Ok(namespace),
                None if prefix == NO_PREFIX => Ok(NO_NAMESPACE),
                None if prefix == XML_PREFIX => Err(true),
                None => Err(false),
            },
        };
        let check = |written: &str| {
            let mut parts = written.split(':');
            let proper = parts.next().is_some_and(is_ncname) && parts.next().is_none_or(is_ncname);
            if proper && parts.next().is_none() { Ok(()) } else { Err(false) }
        };
        match self.document.names.read(written, namespace_of, check) {
            Ok(name) => Ok(name),
            Err(true) => {
                // The prefix `xml` needs no declaration. Bind it when it first occurs.
                let namespace = self.document.names.namespace(XML_NAMESPACE);
                self.bind(XML_PREFIX, namespace, false);
                self.name(written, element, offset)
            }
            Err(false) => {
                let shown: String = written.chars().take(60).collect();
                match check(written) {
                    Ok(()) => self.fail(offset, &format!("the prefix of `{shown}` is not declared")),
                    Err(_) => self.fail(offset, &format!("`{shown}` is not a name")),
                }
            }
        }
    }

    fn bind(&mut self, prefix: PrefixId, namespace: NamespaceId, scoped: bool) {
        let reading = &mut self.document.reading;
        if reading.bindings.len() <= prefix as usize {
            reading.bindings.resize_with(prefix as usize + 1, Vec::new);
        }
        reading.bindings[prefix as usize].push(namespace);
        if scoped {
            reading.bound.push(prefix);
        }
    }

    /// If the attribute declares a namespace, binds its prefix. Returns whether it does.
    fn declare(&mut self, attribute: &Written<'_>, dtd: &Dtd, bound: usize, offset: usize) -> Result<bool> {
        if !is_declaration(attribute.name) {
            return Ok(false);
        }
        let prefix = attribute.name.strip_prefix("xmlns:").unwrap_or("");
        let mut value = String::new();
        let (written, tokenised) = (attribute.value, attribute.tokenised);
        if let Err(fault) = append_value(written, tokenised, dtd, &mut self.budget, &mut value) {
            return self.fault(offset, fault);
        }
        let named = attribute.name.len() > 5;
        let reserved =
            (value == XML_NAMESPACE) != (prefix == "xml") || value == XMLNS_NAMESPACE || prefix == "xmlns";
        if reserved {
            return self.fail(offset, "a namespace declaration that redefines a name reserved by XML");
        }
        if named && (value.is_empty() || !is_ncname(prefix)) {
            return self.fail(offset, "a prefix declared without a name or without a namespace");
        }
        let prefix = self.document.names.prefix(prefix);
        if self.document.reading.bound[bound..].contains(&prefix) {
            return self.fail(offset, "a namespace declared twice in one tag");
        }
        let namespace = self.document.names.namespace(&value);
        self.bind(prefix, namespace, true);
        Ok(true)
    }

    fn check_distinct(&self, element: NodeIndex, count: u32, offset: usize) -> Result<()> {
        if count < 2 {
            return Ok(());
        }
        let expanded = |index: NodeIndex| self.document.node(index).expanded;
        let range = element + 1..element + 1 + count;
        let repeated = if count <= 16 {
            range.clone().find(|&one| (element + 1..one).any(|other| expanded(one) == expanded(other)))
        } else {
            let mut sorted: Vec<_> = range.map(|index| (expanded(index), index)).collect();
            sorted.sort_unstable();
            sorted.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1)
        };
        match repeated {
            None => Ok(()),
            Some(index) => {
                let name = &self.document.names.name(self.document.node(index).name).qualified;
                self.fail(offset, &format!("the attribute `{name}` is given twice"))
            }
        }
    }
}

fn is_declaration(name: &str) -> bool {
    name.strip_prefix("xmlns").is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}
