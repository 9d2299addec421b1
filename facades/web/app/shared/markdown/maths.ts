import katex from 'katex'
import 'katex/dist/katex.min.css'
import { copyFormulasAsTex } from './copy-formulas.ts'

copyFormulasAsTex()

/** Longer formulas are shown as source. */
const MAX_LENGTH = 10_000

/** The most expansions of macros; KaTeX takes as many by itself. */
const MAX_EXPANSIONS = 1000

/** The most characters that macros of the text itself may expand to. */
const MAX_EXPANDED_LENGTH = 20_000

/** Counts the expansions that a formula may take. Macros that it defines itself may be as long as the formula. */
const countExpansions = (tex: string): number =>
  /\\(?:[egx]?def|newcommand|renewcommand|providecommand)(?![a-z])/i.test(tex)
    ? Math.min(MAX_EXPANSIONS, Math.floor(MAX_EXPANDED_LENGTH / tex.length))
    : MAX_EXPANSIONS

/**
 * Renders a formula into an element; throws if the TeX is invalid. Commands of a model may load nothing, link to
 * nothing and expand only so far.
 */
export function renderFormula(element: HTMLElement, tex: string, displayMode: boolean): void {
  if (tex.length > MAX_LENGTH) throw new RangeError('The formula is too long.')
  katex.render(tex, element, {
    displayMode,
    throwOnError: true,
    trust: false,
    maxExpand: countExpansions(tex),
    maxSize: 20,
    strict: 'ignore',
  })
}
