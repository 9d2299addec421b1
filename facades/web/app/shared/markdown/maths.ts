import katex from 'katex'
import 'katex/dist/katex.min.css'

/**
 * Renders a formula into an element; throws if the TeX is invalid. Commands of a model may load nothing, link to
 * nothing and expand only so far.
 */
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
