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
  'tool-server': 'app.admin.ofToolServer',
  tool: 'app.admin.ofTool',
} as const

interface LimitSubject {
  subject: keyof typeof subjectLabels
  subjectId: string
  subjectName?: string | null
}

/** Describes the subject of a limit. */
export const describeSubject = ({ subject, subjectId, subjectName }: LimitSubject) =>
  [t(subjectLabels[subject]), subjectName ?? subjectId].filter(Boolean).join(': ')
