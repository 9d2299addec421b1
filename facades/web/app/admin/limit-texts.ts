import { moneyText, numberText } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'

const subjectLabels = {
  installation: 'app.admin.ofInstallation',
  user: 'app.admin.ofUser',
  group: 'app.admin.ofGroup',
  role: 'app.admin.ofRole',
  app: 'app.admin.ofApp',
  token: 'app.admin.ofToken',
  room: 'app.admin.ofRoom',
  model: 'app.admin.ofModel',
  provider: 'app.admin.ofProvider',
} as const

interface Measured {
  unit: 'requests' | 'tokens' | 'money'
  currency: string | null
}

export const amountText = ({ unit, currency }: Measured, amount: number) =>
  unit === 'money' ? moneyText(amount, currency ?? 'EUR') : numberText(amount)

interface Named {
  subject: keyof typeof subjectLabels
  subjectId: string
  subjectName?: string | null
}

/** For whom a limit is. */
export const whomText = ({ subject, subjectId, subjectName }: Named) =>
  [t(subjectLabels[subject]), subjectName ?? subjectId].filter(Boolean).join(': ')
