/** Forbids pasting into fields with `data-typed`; a password manager can still fill them. */
export function refusePaste(): void {
  for (const field of document.querySelectorAll<HTMLInputElement>('input[data-typed]')) {
    field.addEventListener('beforeinput', (event) => {
      // Covers pasting, dropping, and yanking cut text.
      if (!event.inputType.startsWith('insertFrom')) return
      event.preventDefault()
      field.form?.querySelector('.outcome')?.replaceChildren(field.dataset['typed'] ?? '')
    })
  }
}
