/** Copies selected formulas as TeX. A browser would copy the symbols of their layout, each twice. */
export function copyFormulasAsTex(): void {
  document.addEventListener('copy', (event) => {
    const selection = getSelection()
    if (!event.clipboardData || !selection || selection.rangeCount === 0 || isField(event.target)) return
    const content = cloneWithWholeFormulas(selection.getRangeAt(0))
    const formulas = content.querySelectorAll('.formula:has(.katex)')
    if (formulas.length === 0) return
    for (const formula of formulas) formula.replaceWith(writeTex(formula))
    const { text, html } = layOut(content)
    event.clipboardData.setData('text/plain', text)
    event.clipboardData.setData('text/html', html)
    event.preventDefault()
  })
}

const isField = (target: unknown) => target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement

/** Clones what is selected. A formula that is selected in part is cloned as a whole. */
function cloneWithWholeFormulas(selected: Range): DocumentFragment {
  const range = selected.cloneRange()
  const [first, last] = [findFormula(range.startContainer), findFormula(range.endContainer)]
  if (first) range.setStartBefore(first)
  if (last) range.setEndAfter(last)
  return range.cloneContents()
}

const findFormula = (node: Node) => (node instanceof Element ? node : node.parentElement)?.closest('.formula')

function writeTex(formula: Element): string {
  const tex = formula.querySelector('annotation[encoding="application/x-tex"]')?.textContent ?? ''
  const delimiter = formula.classList.contains('block') ? '$$' : '$'
  return `${delimiter}${tex}${delimiter}`
}

/** Returns the text of a fragment with its line breaks, which only an element in the document has. */
function layOut(content: DocumentFragment): { text: string; html: string } {
  const box = Object.assign(document.createElement('div'), { className: 'off-screen' })
  box.append(content)
  document.body.append(box)
  const { innerText: text, innerHTML: html } = box
  box.remove()
  return { text, html }
}
