import { CopyButton } from './copy-button.tsx'

interface SecretProps {
  label: string
  text: string
  copyText: string
}

/** What is shown once, and must be kept. */
export const Secret = ({ label, text, copyText }: SecretProps) => (
  <div className="secret">
    <output aria-label={label}>{text}</output>
    <CopyButton text={text} label={copyText} />
  </div>
)
