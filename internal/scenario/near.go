package scenario

import "strings"

// nearest finds the candidate that a misspelt word was probably meant to be, ""
// if there is none. Case, dashes and underscores make no difference.
func nearest(word string, candidates []string) string {
	word = fold(word)
	if len(word) < 3 || len(word) > 2*maxShown {
		return ""
	}
	best, distance := "", 1+max(1, len(word)/3)
	for _, candidate := range candidates {
		if d := edits(word, fold(candidate)); d < distance {
			best, distance = candidate, d
		}
	}
	for _, candidate := range candidates {
		if best == "" && strings.HasPrefix(fold(candidate), word) {
			best = candidate
		}
	}
	return best
}

// fold makes words of the same letters equal.
func fold(word string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(word))
}

// edits counts the bytes to insert, remove or replace to make b of a.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
