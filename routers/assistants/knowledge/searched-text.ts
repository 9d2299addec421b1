/** The sealed members of a passage. */
export interface PassageContent {
  text: string
  headings: string[]
}

/** Puts the name of the file and the headings above a passage, as a search knows it. */
export function buildSearchedText(path: string, { text, headings }: PassageContent): string {
  const title = path.slice(path.lastIndexOf('/') + 1).replace(/\.\w{1,10}$/, '')
  return [title, ...headings, text].join('\n').toWellFormed()
}
