package sshconfig

import (
	"slices"
	"strings"

	"ptyctl/sshx/patterns"
)

// assemble evaluates an algorithm list (ssh_config(5), Ciphers): "+a,b" appends to the
// default, "-a,b" removes patterns from it, "^a,b" puts names in front, and a plain list
// replaces it. A name may be a pattern over the supported names. unknown holds the names that
// are not supported, which are left out.
func (s AlgorithmSet) assemble(spec string) (result, unknown []string) {
	if spec == "" {
		return slices.Clone(s.Default), nil
	}
	operator, names := byte(0), spec
	if strings.IndexByte("+-^", spec[0]) >= 0 {
		operator, names = spec[0], spec[1:]
	}
	if operator == '-' {
		for _, name := range s.Default {
			if !patterns.MatchList(name, names) {
				result = append(result, name)
			}
		}
		return result, nil
	}
	// A name keeps its first position in the list.
	add := func(name string) {
		if !slices.Contains(result, name) {
			result = append(result, name)
		}
	}
	if operator == '+' {
		result = slices.Clone(s.Default)
	}
	for name := range strings.SplitSeq(names, ",") {
		if name == "" {
			continue
		}
		if len(s.Supported) == 0 {
			add(name)
			continue
		}
		found := false
		for _, supported := range s.Supported {
			if patterns.Match(supported, name) {
				found = true
				add(supported)
			}
		}
		if !found {
			unknown = append(unknown, name)
		}
	}
	if operator == '^' {
		for _, name := range s.Default {
			add(name)
		}
	}
	return result, unknown
}

// algorithms evaluates one algorithm keyword. A list without any supported name refuses the
// host, because the connection would use an algorithm that the file excludes.
func (e *evaluator) algorithms(keyword string, set AlgorithmSet) []string {
	result, unknown := set.assemble(e.text(keyword))
	switch {
	case e.set[keyword] == nil:
	case len(result) == 0:
		e.refuse(
			keyword,
			e.origin(keyword),
			"no implemented algorithm is left; implemented are: "+strings.Join(set.Supported, ", "),
		)
	case len(unknown) > 0:
		e.warn(Warning{
			Origin: e.origin(keyword), Keyword: keyword, Applies: true,
			Text: "not implemented, and left out: " + strings.Join(unknown, ", "),
		})
	}
	return result
}
