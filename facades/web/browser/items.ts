/** One line of a list: what it says, and a button that does something about it. */
export function item(text: string, button?: HTMLButtonElement): HTMLLIElement {
  const line = document.createElement('li')
  const span = document.createElement('span')
  span.textContent = text
  line.append(span, ...(button ? [button] : []))
  return line
}

/** A button of a line; to who hears the page it says of which line. */
export function itemButton(name: string, of: string, press: () => Promise<void>): HTMLButtonElement {
  const button = document.createElement('button')
  button.textContent = name
  button.setAttribute('aria-label', `${name}: ${of}`)
  button.addEventListener('click', press)
  return button
}
