//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// passedOn are the signals that a child gets: here it is the system's affair.
var passedOn = []os.Signal{os.Interrupt}

func setGroup(*exec.Cmd) {}

// killGroup kills a program; what it has started lives on.
func killGroup(p *os.Process) error { return p.Kill() }

func exitCodeOf(state *os.ProcessState) int { return state.ExitCode() }
