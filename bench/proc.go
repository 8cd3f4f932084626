package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU time in /proc: USER_HZ is 100 on every system that Go serves.
const tick = 10 * time.Millisecond

// cpuTime is the CPU time that a process has used, its kernel time included, to 10 ms.
func cpuTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return 0, err
	}
	return parseCPU(string(b))
}

func procFile(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }

// parseCPU adds utime and stime of a stat file (proc_pid_stat(5)). They are counted from
// behind the program's name, which may hold anything.
func parseCPU(stat string) (time.Duration, error) {
	const utime, stime = 11, 12 // fields behind the name
	f := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(f) <= stime {
		return 0, fmt.Errorf("%q is no stat file of a process", stat)
	}
	user, errUser := strconv.ParseInt(f[utime], 10, 64)
	system, errSystem := strconv.ParseInt(f[stime], 10, 64)
	return time.Duration(user+system) * tick, errors.Join(errUser, errSystem)
}

// memory is what a process has and had resident, in bytes.
func memory(pid int) (resident, peak int64, err error) {
	b, err := os.ReadFile(procFile(pid, "status"))
	if err != nil {
		return 0, 0, err
	}
	resident, errResident := parseKB(string(b), "VmRSS")
	peak, errPeak := parseKB(string(b), "VmHWM")
	return resident, peak, errors.Join(errResident, errPeak)
}

// parseKB reads a line such as "VmHWM:  123 kB" of a status or meminfo file, in bytes.
func parseKB(text, name string) (int64, error) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n * 1024, err
		}
	}
	return 0, fmt.Errorf("there is no line %s", name)
}

// memoryLeft is how many bytes the machine can still give.
func memoryLeft() (int64, error) {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	return parseKB(string(b), "MemAvailable")
}

// descriptors counts the open files of a process.
func descriptors(pid int) (int, error) {
	all, err := os.ReadDir(procFile(pid, "fd"))
	return len(all), err
}

// listenerOf finds the process that listens on a port.
func listenerOf(port int) (pid int, err error) {
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(table)
		if err != nil {
			continue // no IPv6
		}
		for _, inode := range listening(string(b), port) {
			sockets["socket:["+inode+"]"] = true
		}
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0, err
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && sockets[to] {
			return strconv.Atoi(strings.Split(link, "/")[2])
		}
	}
	return 0, fmt.Errorf("no process is found that listens on port %d; say its process id", port)
}

// listening gives the inodes of sockets that listen on a port, from a table of
// /proc/net (proc_pid_net(5)).
func listening(table string, port int) (inodes []string) {
	const local, state, inode, listens = 1, 3, 9, "0A"
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) > inode && f[state] == listens && strings.HasSuffix(f[local], fmt.Sprintf(":%04X", port)) {
			inodes = append(inodes, f[inode])
		}
	}
	return inodes
}
