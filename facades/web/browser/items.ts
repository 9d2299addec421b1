import type { Translate } from './errors.ts'
import { always, element, type Step, type Sure, work } from './form.ts'

/** One line of a list: a name, what else there is to say, and a button that does something about it. */
export function item(name: string, details: readonly string[] = [], button?: HTMLButtonElement): HTMLLIElement {
  const line = document.createElement('li')
  const text = document.createElement('div')
  text.append(Object.assign(document.createElement('strong'), { textContent: name }))
  for (const detail of details) text.append(Object.assign(document.createElement('p'), { textContent: detail }))
  line.append(text, ...(button ? [button] : []))
  return line
}

interface ItemButton {
  /** The list that it belongs to. */
  list: string
  label: string
  /** The name of its line, for people who hear the page. */
  of: string
  press: Step
  sure?: Sure
}

/** A button of a line. When it is done the line may be gone, so the title of the list takes the focus. */
export function itemButton(
  translate: Translate,
  { list, label, of, press, sure = always }: ItemButton,
): HTMLButtonElement {
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent: label })
  button.className = 'quiet'
  button.setAttribute('aria-label', `${label}: ${of}`)
  const place = { busy: element(list), button, outcome: element(`${list}-outcome`) }
  button.addEventListener('click', async () => {
    if (await sure()) await work(translate, place, press)
    if (!button.isConnected) element(`${list}-title`).focus()
  })
  return button
}
