//! *exchange*: publishers, advertising networks and advertisers, after Broder et al. 2011, section 4.1.
//!
//! The graph has the numbers of Table 1. Its averages determine the number of edges from publishers
//! to networks, from publishers to advertisers (about 17,000), among networks, and from networks to
//! advertisers; the constants below satisfy all of them. Most networks form one strongly connected
//! component and four form another; the rest lead into the large one, are reachable from it, or are
//! disconnected from it, so that the graph has the shape of a bow tie. A larger graph has
//! proportionally more of everything and the same averages (section 4.3).
//!
//! Every network and advertiser has an expression over six attributes: one to three conjunctions of
//! a set and a range, wide enough to give the requested selectivity. The conjunctions of an
//! expression are mutually exclusive. With selectivity 1 there are no expressions. An event starts
//! at a publisher and has all six attributes.
//!
//! The paper does not give the distribution of edges. Here half of the edges from networks to
//! advertisers lead to distinct advertisers and the rest to random ones, so that a publisher
//! reaches about 4,800 nodes, as in Table 1.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use tamis::Missing;

use super::parameters::{Parameters, within};
use super::random::Random;
use super::statistics::{Figure, MATCH_PROBABILITY};
use super::text::write_number;
use super::{Workload, kind};

/// Node counts of Table 1.
const PUBLISHERS: u64 = 60_011;
const NETWORKS: u64 = 282;
const ADVERTISERS: u64 = 10_804;
/// Networks in the large component, reachable from it, and leading into it.
const CORE: u64 = 126;
const BEHIND: u64 = 60;
const BEFORE: u64 = 50;
/// Networks in the small component.
const RING: u64 = 4;
/// Edges from publishers, and those of them that lead to advertisers.
const PUBLISHED: u64 = 75_927;
const DIRECT: u64 = 17_000;
/// Edges among networks, and from networks to advertisers.
const AMONG: u64 = 4_354;
const ADVERTISED: u64 = 7_518;

/// The attributes and their numbers of values. The last one is tested by ranges.
const ATTRIBUTES: [(&str, u32); 6] =
    [("topic", 16), ("geo", 16), ("adsize", 8), ("device", 4), ("gender", 2), ("age", 64)];

/// The parameters of the workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExchangeParameters {
    /// The seed of all random choices.
    pub seed: u64,
    /// The size of the graph as a multiple of Table 1.
    pub scale: u64,
    /// The fraction of events that satisfy an expression.
    pub selectivity: f64,
}

impl Default for ExchangeParameters {
    fn default() -> Self {
        ExchangeParameters { seed: 0, scale: 1, selectivity: 0.25 }
    }
}

impl Parameters for ExchangeParameters {
    fn check(&self) -> Result<(), String> {
        within("scale", self.scale, 1, 1000)?;
        // With a lower selectivity, even a range of one value would be too wide.
        within("selectivity", self.selectivity, 0.03, 1.0)
    }
}

/// The workload *exchange*.
#[derive(Debug)]
pub struct Exchange {
    parameters: ExchangeParameters,
}

impl Exchange {
    /// The workload with these parameters.
    pub fn new(parameters: ExchangeParameters) -> Exchange {
        Exchange { parameters }
    }

    /// The parameters of this workload.
    pub fn parameters(&self) -> &ExchangeParameters {
        &self.parameters
    }

    fn scaled(&self, count: u64) -> u64 {
        count * self.parameters.scale
    }

    /// The number of nodes: publishers first, then networks, then advertisers.
    pub fn nodes(&self) -> u64 {
        self.scaled(PUBLISHERS + NETWORKS + ADVERTISERS)
    }

    /// The number of edges. A few may connect the same two nodes.
    pub fn edges(&self) -> u64 {
        self.scaled(PUBLISHED + AMONG + ADVERTISED)
    }

    /// The number of nodes without an expression: the publishers, or all nodes at selectivity 1.
    pub fn free(&self) -> u64 {
        if self.parameters.selectivity >= 1.0 { self.nodes() } else { self.scaled(PUBLISHERS) }
    }

    /// Appends the name of a node.
    pub fn write_node(&self, node: u64, text: &mut String) {
        let (publishers, networks) = (self.scaled(PUBLISHERS), self.scaled(NETWORKS));
        let (kind, number) = match node.checked_sub(publishers) {
            None => ("pub", node),
            Some(network) if network < networks => ("net", network),
            Some(other) => ("adv", other - networks),
        };
        let _ = write!(text, "{kind}{number}");
    }

    /// The name of a node.
    pub fn node(&self, node: u64) -> String {
        let mut text = String::new();
        self.write_node(node, &mut text);
        text
    }

    /// The text of a node's expression, if it has one.
    pub fn condition(&self, node: u64) -> Option<String> {
        (node >= self.free()).then(|| self.expression_text(node - self.scaled(PUBLISHERS)))
    }

    /// The source and target of an edge.
    pub fn edge(&self, number: u64) -> (u64, u64) {
        let mut random = Random::new(self.parameters.seed, kind::EDGE, number);
        let (networks, advertisers) = (self.scaled(PUBLISHERS), self.scaled(PUBLISHERS + NETWORKS));
        let mut below = |count: u64| u64::from(random.below(count as u32));
        let mut within = |first: u64, count: u64| networks + first + below(count);
        let [core, behind, before] = [CORE, BEHIND, BEFORE].map(|count| self.scaled(count));
        if number < self.scaled(PUBLISHED) {
            let publishers = self.scaled(PUBLISHERS);
            // Every publisher has at least one edge; direct edges are evenly spaced.
            let source = if number < publishers { number } else { below(publishers) };
            if (number + 1) * DIRECT / PUBLISHED > number * DIRECT / PUBLISHED {
                return (source, advertisers + below(self.scaled(ADVERTISERS)));
            }
            let mut within = |first: u64, count: u64| networks + first + below(count);
            let target = match within(0, 100) - networks {
                0..92 => within(0, core),
                92..95 => within(core + behind, before),
                95..97 => within(core, behind),
                _ => within(0, self.scaled(NETWORKS)),
            };
            return (source, target);
        }
        let number = number - self.scaled(PUBLISHED);
        if number < self.scaled(AMONG) {
            let ring = core + behind + before;
            if number < core {
                // A ring makes the component strongly connected.
                return (networks + number, networks + (number + 1) % core);
            }
            if number < core + RING {
                let place = number - core;
                return (networks + ring + place, networks + ring + (place + 1) % RING);
            }
            return match within(0, 100) - networks {
                0..80 => (within(0, core), within(0, core)),
                80..90 => (within(core + behind, before), within(0, core)),
                _ => (within(0, core), within(core, behind)),
            };
        }
        let number = number - self.scaled(AMONG);
        let source = match within(0, 100) - networks {
            0..94 => within(0, core + behind),
            _ => within(0, self.scaled(NETWORKS)),
        };
        let all = self.scaled(ADVERTISERS);
        let distinct = self.scaled(ADVERTISED) / 2;
        (source, advertisers + if number < distinct { number * all / distinct } else { below(all) })
    }

    /// The publisher at which an event starts.
    pub fn source(&self, event: u64) -> u64 {
        let mut random = Random::new(self.parameters.seed, kind::SOURCE, event);
        u64::from(random.below(self.scaled(PUBLISHERS) as u32))
    }
}

impl Workload for Exchange {
    fn name(&self) -> &'static str {
        "exchange"
    }

    fn missing(&self) -> Missing {
        Missing::Unknown
    }

    fn as_graph(&self) -> Option<&Exchange> {
        Some(self)
    }

    fn requested(&self) -> Vec<Figure> {
        vec![
            Figure::new("predicates per expression", 4.0),
            Figure::new("attributes", ATTRIBUTES.len() as f64),
            Figure::new("pairs per event", ATTRIBUTES.len() as f64),
            Figure::new(MATCH_PROBABILITY, self.parameters.selectivity),
        ]
    }

    fn write_expression(&self, number: u64, text: &mut String) {
        let mut random = Random::new(self.parameters.seed, kind::EXPRESSION, number);
        let conjunctions = random.between(1, 3);
        let (range, ages) = ATTRIBUTES[ATTRIBUTES.len() - 1];
        // The conjunctions test disjoint ages, so their selectivities add up.
        let part = self.parameters.selectivity / f64::from(conjunctions);
        for conjunction in 0..conjunctions {
            if conjunction > 0 {
                text.push_str(" or ");
            }
            let (begin, end) = (ages * conjunction / conjunctions, ages * (conjunction + 1) / conjunctions);
            let (attribute, values) = ATTRIBUTES[random.below(ATTRIBUTES.len() as u32 - 1) as usize];
            // Few enough values that the range spans at least one age, and enough that it fits
            // within the ages.
            let wanted = part * f64::from(values) * f64::from(ages);
            let least = (wanted / f64::from(end - begin)).ceil() as u32;
            let least = least.clamp(1, values);
            let taken = random.between(least, (wanted as u32).clamp(least, values));
            let first = random.below(values);
            text.push_str(attribute);
            text.push_str(" in (");
            for value in 0..taken {
                text.push_str(if value > 0 { ", '" } else { "'" });
                text.push_str(attribute);
                write_number((first + value) % values, text);
                text.push('\'');
            }
            // Round a fractional width up with the probability of its fraction.
            let wide = wanted / f64::from(taken);
            let wide = wide as u32 + u32::from(random.chance(wide.fract()));
            let wide = wide.clamp(1, end - begin);
            let low = begin + random.below(end - begin - wide + 1);
            text.push_str(") and ");
            text.push_str(range);
            text.push_str(" between ");
            write_number(low, text);
            text.push_str(" and ");
            write_number(low + wide - 1, text);
        }
    }

    fn write_event(&self, number: u64, json: &mut String) -> usize {
        let mut random = Random::new(self.parameters.seed, kind::EVENT, number);
        for (position, (attribute, values)) in ATTRIBUTES.into_iter().enumerate() {
            json.push_str(if position > 0 { ", " } else { "{" });
            let value = random.below(values);
            let _ = match attribute {
                "age" => write!(json, "\"{attribute}\": {value}"),
                _ => write!(json, "\"{attribute}\": \"{attribute}{value}\""),
            };
        }
        json.push('}');
        ATTRIBUTES.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use tamis::{Event, Limits, parse};
    use tamis_graph::{Batch, Graph, GraphScratch, Strategy};

    fn build(exchange: &Exchange) -> Graph {
        let graph = Graph::new(exchange.missing(), Limits::default());
        let graph = graph.with_skipping(tamis_papers::SKIPPING).unwrap();
        let mut batch = Batch::default();
        let id = |node| exchange.node(node).as_str().into();
        for node in 0..exchange.nodes() {
            let expression = exchange.condition(node).map(|text| parse(&text, graph.limits()).unwrap());
            batch.add_node(id(node), expression, graph.limits()).unwrap();
        }
        for edge in 0..exchange.edges() {
            let (source, target) = exchange.edge(edge);
            batch.add_edge(id(source), id(target), None, 1.0, graph.limits()).unwrap();
        }
        graph.add_batch(batch).unwrap();
        graph
    }

    #[test]
    fn the_graph_has_the_numbers_of_table_1() {
        let exchange = Exchange::new(ExchangeParameters { selectivity: 1.0, ..Default::default() });
        assert_eq!((exchange.nodes(), exchange.edges()), (71_097, 87_799));
        let graph = build(&exchange);
        let stats = graph.snapshot().stats();
        assert_eq!((stats.nodes, stats.largest_component), (71_097, 126));
        assert_eq!(stats.components, 70_969);
        assert!((87_000..=87_799).contains(&stats.edges), "{}", stats.edges);
        let snapshot = graph.snapshot();
        let (mut reached, mut most, mut working) = (0, 0, GraphScratch::default());
        for event in 0..300 {
            let source = snapshot.find(&exchange.node(exchange.source(event)).as_str().into()).unwrap();
            let mut count = 0;
            snapshot
                .matches(&Event::default(), source, Strategy::Bfs, false, &mut working, |_| count += 1)
                .unwrap();
            reached += count;
            most = most.max(count);
        }
        // The paper reports 4,802 and 5,998.
        assert!((4_500..5_100).contains(&(reached / 300)), "{}", reached / 300);
        assert!((5_500..6_500).contains(&most), "{most}");
        let networks: HashSet<u64> = (60_011..60_293).collect();
        let into = (0..exchange.edges()).filter(|&edge| networks.contains(&exchange.edge(edge).1)).count();
        assert!((62_000..64_500).contains(&into), "{into}");
    }

    #[test]
    fn expressions_have_the_selectivity_asked_for() {
        for selectivity in [0.03, 1.0 / 16.0, 0.125, 0.25, 0.5, 0.9] {
            let exchange = Exchange::new(ExchangeParameters { selectivity, ..Default::default() });
            let counts = crate::workload::count_matches(&exchange, 0..5000, 0..100);
            let part = counts.iter().sum::<u64>() as f64 / (5000.0 * 100.0);
            assert!((part / selectivity - 1.0).abs() < 0.05, "{part} for {selectivity}");
        }
    }
}
