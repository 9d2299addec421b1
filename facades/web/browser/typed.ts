/** Holds fields that are marked so to what is typed; a password manager may still fill them. */
export function refusePaste(): void {
  for (const field of document.querySelectorAll<HTMLInputElement>('input[data-typed]')) {
    field.addEventListener('beforeinput', (event) => {
      // Pasted, dropped, or put back from what was cut.
      if (!event.inputType.startsWith('insertFrom')) return
      event.preventDefault()
      field.form?.querySelector('.outcome')?.replaceChildren(field.dataset['typed'] ?? '')
    })
  }
}
