import type { Translate } from './errors.ts'
import { always, type Confirmation, element, runStep, type Step } from './form.ts'

/** A list item with a name, details and an optional button. */
export function item(name: string, details: readonly string[] = [], button?: HTMLButtonElement): HTMLLIElement {
  const line = document.createElement('li')
  const text = document.createElement('div')
  text.append(Object.assign(document.createElement('strong'), { textContent: name }))
  for (const detail of details) text.append(Object.assign(document.createElement('p'), { textContent: detail }))
  line.append(text, ...(button ? [button] : []))
  return line
}

interface ItemButton {
  /** The id of the list that the item belongs to. */
  list: string
  label: string
  /** The name of the item, which screen readers say with the label. */
  of: string
  press: Step
  sure?: Confirmation
}

/** The button of a list item. Its step may remove the item, and then the title of the list takes the focus. */
export function itemButton(
  translate: Translate,
  { list, label, of, press, sure = always }: ItemButton,
): HTMLButtonElement {
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent: label })
  button.className = 'quiet'
  button.setAttribute('aria-label', `${label}: ${of}`)
  const status = { busy: element(list), button, outcome: element(`${list}-outcome`) }
  button.addEventListener('click', async () => {
    if (await sure()) await runStep(translate, status, press)
    if (!button.isConnected) element(`${list}-title`).focus()
  })
  return button
}
