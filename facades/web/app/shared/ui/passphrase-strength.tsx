import { faultTexts, findPasskeyFault } from '../../../browser/crypto/own.ts'
import { rateStrength } from '../passphrase-strength.ts'
import { t } from '../text/labels.ts'
import styles from './passphrase-strength.module.css'

export interface PassphraseRules {
  isRestricted: boolean
  /** Texts that others know, such as the username. */
  known: readonly string[]
}

const strengths = {
  weak: { level: 1, text: 'page.passphrase.weak' },
  fair: { level: 2, text: 'page.passphrase.fair' },
  strong: { level: 3, text: 'page.passphrase.strong' },
} as const

/** Says how strong a new passphrase is while it is typed, or why it may not be chosen. */
export function PassphraseStrength({ typed, rules }: { typed: string; rules: PassphraseRules }) {
  const fault = typed === '' ? undefined : findPasskeyFault(typed, rules)
  const strength = typed === '' || fault ? undefined : strengths[rateStrength(typed)]
  const text = fault ? faultTexts[fault] : strength?.text
  return (
    <div className={styles.strength} data-level={strength?.level ?? 0}>
      <span className={styles.bars} aria-hidden="true">
        <span />
        <span />
        <span />
      </span>
      <p className="hint" role="status">
        {text && t(text)}
      </p>
    </div>
  )
}
