package main

import "fmt"

// didYouMean suggests the nearest of the known words, with prefix put before
// it, as the middle of a sentence; it's empty where nothing is near.
func didYouMean(word string, known []string, prefix string) string {
	near, ok := nearest(word, known)
	if !ok {
		return ""
	}
	return fmt.Sprintf("did you mean %q? ", prefix+near)
}

// nearest returns the known word with the fewest edits from word, if it takes
// no more than a third of the word: beyond that a suggestion misleads.
func nearest(word string, known []string) (string, bool) {
	best, bestEdits := "", max(1, len(word)/3)+1
	for _, candidate := range known {
		if edits := editDistance(word, candidate); edits < bestEdits {
			best, bestEdits = candidate, edits
		}
	}
	return best, best != ""
}

// editDistance counts the insertions, deletions and replacements of bytes that
// turn one word into the other (Levenshtein).
func editDistance(from, to string) int {
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(from) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(to) {
			replaced := diagonal
			if from[i] != to[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
