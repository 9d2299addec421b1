import type { Excerpt } from '../text/excerpt.ts'

/** A match of a search, marked within the text around it. */
export const ExcerptText = ({ excerpt: { before, words, after } }: { excerpt: Excerpt }) => (
  <>
    {before}
    <mark>{words}</mark>
    {after}
  </>
)
