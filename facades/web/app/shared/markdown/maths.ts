import katex from 'katex'
import 'katex/dist/katex.min.css'

/** Shows a formula in an element; throws where it is none. What a model writes may neither load nor link anything, nor grow without end. */
export function renderFormula(element: HTMLElement, tex: string, displayMode: boolean): void {
  katex.render(tex, element, {
    displayMode,
    throwOnError: true,
    trust: false,
    maxExpand: 200,
    maxSize: 20,
    strict: 'ignore',
  })
}
