package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/drivers"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// useDrivers takes the drivers that the command line gives beside the names of scenarios: from now on, they are variants of all recipes that take
// drivers.
func (a *app) useDrivers(commands, names []string) error {
	if len(commands) > 0 && isGroup(names) {
		return fmt.Errorf("--driver goes with scenarios that are named, and not with %s", names[0])
	}
	var errs []error
	for _, command := range commands {
		own, err := drivers.OwnDriver(command)
		if err != nil {
			errs = append(errs, fmt.Errorf("--driver: %w", err))
			continue
		}
		a.drivers = append(a.drivers, own)
	}
	return errors.Join(errs...)
}

// recipes returns all recipes, with the drivers that the command line gives.
func (a *app) recipes() []variants.Recipe {
	recipes := catalog.Recipes()
	for i := range recipes {
		for _, own := range a.drivers {
			if with, err := own.AddTo(recipes[i]); err == nil { // addDrivers reports the error if the recipe runs
				recipes[i] = with
			}
		}
	}
	return recipes
}

// addDrivers adds the variants of the drivers that the command line gives to those that a scenario compares.
func (a *app) addDrivers(s *scenarios.Scenario) error {
	if len(a.drivers) == 0 {
		return nil
	}
	recipe := *s.RecipeAmong(catalog.Recipes())
	if recipe.JoinDriven == nil {
		return fmt.Errorf("--driver: %s is a scenario of recipe %s, which takes no drivers; these do: %s", s.Name, s.Recipe, strings.Join(drivenRecipes(), ", "))
	}
	if len(s.Variants) == 0 {
		for _, v := range s.Selected(recipe) {
			s.Variants = append(s.Variants, v.Name)
		}
	}
	for _, own := range a.drivers {
		with, err := own.AddTo(recipe)
		if err != nil {
			return fmt.Errorf("--driver: %w", err)
		}
		recipe = with
		if !slices.Contains(s.Variants, own.Name()) {
			s.Variants = append(s.Variants, own.Name())
		}
		if !slices.ContainsFunc(s.Selected(recipe), func(v variants.Variant) bool { return v.Name == own.Name() }) {
			return fmt.Errorf("--driver: %s is a %s load, in which no driver can take part: choose another scenario, or --mode closed", s.Name, s.Mode)
		}
	}
	s.Expect = nil // claims are about the scenario's own load
	return checked(*s, a.recipes())
}

// drivenRecipes returns the names of the recipes that take drivers.
func drivenRecipes() (names []string) {
	for _, r := range catalog.Recipes() {
		if r.JoinDriven != nil {
			names = append(names, r.Name)
		}
	}
	return names
}
