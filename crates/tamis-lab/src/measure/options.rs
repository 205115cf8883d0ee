//! The options of the engine's matchers.

use serde::{Deserialize, Serialize};
use tamis::Limits;
use tamis_papers::{ATreeOptions, IntervalOptions, KIndexOptions};

use super::ranking::RankingOptions;
use crate::workload::{Named, Parameters, named};

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Plain {
    #[serde(flatten)]
    ranking: RankingOptions,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CompiledOptions {
    #[serde(flatten)]
    ranking: RankingOptions,
    /// The number of sample events, from which the matcher estimates probabilities.
    pub sample: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ATreeSwitches {
    #[serde(flatten)]
    ranking: RankingOptions,
    share: bool,
    binary: bool,
    zero_suppression: bool,
    reorganise: bool,
    self_adjust: bool,
    propagation_on_demand: bool,
    /// The number of sample events, from which the matcher estimates probabilities.
    pub sample: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PostingOptions {
    #[serde(flatten)]
    ranking: RankingOptions,
    /// Whether equal conjunctions are stored once.
    pub share: bool,
    /// Whether posting lists are skipped.
    pub skipping: bool,
    /// The most signed predicates in an expression's normal form.
    pub normal_form: usize,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CnfOptions {
    #[serde(flatten)]
    ranking: RankingOptions,
    pub skipping: bool,
    pub normal_form: usize,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct IntervalSwitches {
    #[serde(flatten)]
    ranking: RankingOptions,
    pub common_subexpressions: bool,
}

const SAMPLE: u64 = 200;

impl Default for ATreeSwitches {
    fn default() -> Self {
        let usual = ATreeOptions::default();
        ATreeSwitches {
            ranking: RankingOptions::default(),
            share: usual.share,
            binary: usual.binary,
            zero_suppression: usual.zero_suppression,
            reorganise: usual.reorganise,
            self_adjust: usual.self_adjust,
            propagation_on_demand: usual.propagation_on_demand,
            sample: SAMPLE,
        }
    }
}

impl ATreeSwitches {
    pub fn options(&self) -> ATreeOptions {
        ATreeOptions {
            share: self.share,
            binary: self.binary,
            zero_suppression: self.zero_suppression,
            reorganise: self.reorganise,
            self_adjust: self.self_adjust,
            propagation_on_demand: self.propagation_on_demand,
        }
    }
}

impl Default for CompiledOptions {
    fn default() -> Self {
        CompiledOptions { ranking: RankingOptions::default(), sample: SAMPLE }
    }
}

impl Default for PostingOptions {
    fn default() -> Self {
        let KIndexOptions { share, normal_form } = KIndexOptions::default();
        PostingOptions { ranking: RankingOptions::default(), share, skipping: true, normal_form }
    }
}

impl Default for CnfOptions {
    fn default() -> Self {
        let normal_form = Limits::default().normal_form;
        CnfOptions { ranking: RankingOptions::default(), skipping: true, normal_form }
    }
}

impl Default for IntervalSwitches {
    fn default() -> Self {
        let IntervalOptions { common_subexpressions } = IntervalOptions::default();
        IntervalSwitches { ranking: RankingOptions::default(), common_subexpressions }
    }
}

macro_rules! any_value {
    ($($options:ty),*) => {
        $(impl Parameters for $options {
            fn check(&self) -> Result<(), String> {
                self.ranking.check()
            }
        })*
    };
}
any_value!(Plain, CompiledOptions, ATreeSwitches, PostingOptions, CnfOptions, IntervalSwitches);

/// The options of a matcher with their defaults.
pub(super) fn options(name: &str) -> Named {
    match name {
        "compiled" => named(&CompiledOptions::default()),
        "atree" => named(&ATreeSwitches::default()),
        "kindex" => named(&PostingOptions::default()),
        "cnf" => named(&CnfOptions::default()),
        "interval" => named(&IntervalSwitches::default()),
        _ => named(&Plain::default()),
    }
}
