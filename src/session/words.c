/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/words.h"

/* Sorted, and no word begins another, so that a prefix of an id points to as few as possible. */
static const char adjectives[][12] = {
	"able", "agile", "alert", "amber", "ample", "apt", "arid", "azure", "balmy", "basic", "bold", "bonny",
	"brave", "brief", "bright", "brisk", "broad", "bronze", "calm", "candid", "careful", "cedar", "cheery",
	"civil", "clean", "clear", "clever", "cloudy", "coastal", "cobalt", "comic", "copper", "coral",
	"cosmic", "cozy", "crimson", "crisp", "curious", "daily", "dapper", "daring", "dewy", "direct",
	"distant", "dotted", "dusky", "eager", "early", "earnest", "easy", "ebony", "elder", "elegant", "even",
	"exact", "fabled", "fair", "famous", "fancy", "fast", "fearless", "fine", "firm", "fleet", "floral",
	"fluent", "fond", "frank", "free", "fresh", "frosty", "funny", "gentle", "gifted", "glad", "gleaming",
	"global", "golden", "grand", "grateful", "green", "handy", "happy", "hardy", "hasty", "hazel", "hearty",
	"hidden", "hollow", "honest", "humble", "icy", "ideal", "indigo", "inner", "jade", "jaunty", "jolly",
	"jovial", "keen", "kind", "known", "large", "lasting", "late", "lavish", "lean", "level", "light",
	"likely", "lilac", "limber", "lively", "local", "lofty", "loyal", "lucid", "lucky", "lunar", "magic",
	"major", "maple", "marine", "mellow", "merry", "mighty", "mild", "minty", "misty", "modern", "modest",
	"mossy", "narrow", "native", "neat", "nimble", "noble", "northern", "oaken", "olive", "open", "orange",
	"orderly", "outer", "pacific", "patient", "pearly", "plain", "playful", "plucky", "polite", "prompt",
	"proper", "proud", "pure", "quaint", "quick", "quiet", "rapid", "rare", "ready", "regal", "rested",
	"robust", "rosy", "round", "royal", "ruby", "rustic", "sandy", "scarlet", "serene", "sharp", "shiny",
	"silent", "silver", "simple", "sleek", "smart", "smooth", "snowy", "snug", "sober", "solar", "solid",
	"sonic", "spare", "spicy", "spry", "stable", "steady", "still", "stormy", "sturdy", "subtle", "sunny",
	"sure", "swift", "tame", "tender", "thrifty", "tidy", "timely", "tiny", "topaz", "tranquil", "trim",
	"true", "trusty", "upbeat", "urban", "useful", "valid", "vast", "velvet", "vernal", "violet", "vivid",
	"warm", "wary", "wide", "willing", "windy", "winter", "wise", "witty", "wooden", "woven", "young",
	"zany", "zesty",
};

static const char nouns[][12] = {
	"acorn", "alder", "anchor", "anvil", "apple", "arbor", "arrow", "aspen", "atlas", "badger", "bakery",
	"banjo", "barley", "basin", "beacon", "beaver", "bell", "birch", "bison", "bobcat", "bramble", "bridge",
	"brook", "buffalo", "cabin", "cactus", "canal", "candle", "canyon", "cape", "cardinal", "castle",
	"cedar", "cello", "chart", "cherry", "cliff", "clover", "comet", "compass", "condor", "coral", "cove",
	"crane", "creek", "cricket", "crow", "cypress", "daisy", "delta", "desert", "dolphin", "dove", "drum",
	"dune", "eagle", "echo", "elk", "elm", "ember", "falcon", "fern", "ferry", "fiddle", "field", "finch",
	"fjord", "flint", "forest", "fox", "galaxy", "garden", "gecko", "geyser", "glacier", "glade", "gorge",
	"granite", "grove", "gull", "harbor", "harvest", "hawk", "heath", "hedge", "heron", "hill", "hollow",
	"horizon", "ibis", "inlet", "iris", "island", "ivy", "jaguar", "jasper", "jetty", "juniper", "kestrel",
	"kettle", "kiln", "kite", "koala", "lagoon", "lantern", "lark", "laurel", "lemur", "lichen", "lily",
	"linden", "lion", "lotus", "lynx", "magpie", "mango", "mantis", "marble", "marsh", "meadow", "mesa",
	"meteor", "mill", "mint", "moose", "moraine", "moss", "moth", "mountain", "nebula", "nectar", "needle",
	"nettle", "newt", "oak", "oasis", "ocean", "orbit", "orchard", "osprey", "otter", "owl", "oyster",
	"panda", "pebble", "pelican", "penguin", "pepper", "petal", "pier", "pine", "planet", "plateau", "plum",
	"pond", "poplar", "prairie", "puffin", "quail", "quarry", "quartz", "rabbit", "raven", "reef", "ridge",
	"river", "robin", "rocket", "saddle", "salmon", "sequoia", "shore", "sparrow", "spruce", "stone",
	"stream", "summit", "sundial", "swan", "thicket", "thistle", "thunder", "tiger", "timber", "torch",
	"trail", "tulip", "tundra", "turtle", "valley", "viola", "walnut", "warbler", "waterfall", "willow",
	"wolf", "wren", "yarrow", "zebra", "zephyr",
};

const char *word_adjective(unsigned random)
{
	return adjectives[random % COUNT(adjectives)];
}

const char *word_noun(unsigned random)
{
	return nouns[random % COUNT(nouns)];
}
