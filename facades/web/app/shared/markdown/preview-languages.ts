/** Languages that can be shown as a web page on demand. */
const pages = new Set(['html', 'svg', 'xml'])

/** Languages of diagrams, which can be drawn on demand. */
const diagrams = new Set(['mermaid', 'mmd'])

export const isDiagram = (language: string): boolean => diagrams.has(language)

export const hasPreview = (language: string): boolean => pages.has(language) || isDiagram(language)
